// Copy buttons, and the comparison of a listing with a set. Every page is complete without this file: what needs
// it is hidden until it runs.
for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!navigator.clipboard) break; // It exists over https and on localhost only.
  const label = button.textContent;
  button.hidden = false;
  button.ariaLive = "polite";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}

// MD5 (RFC 1321).
const SINES = Int32Array.from({ length: 64 }, (_, step) => Math.floor(Math.abs(Math.sin(step + 1)) * 2 ** 32) | 0);
const SHIFTS = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];
const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const words = new Int32Array(16);

/** The MD5 of the first bytes of a buffer, after which it has room for a block. */
function md5(bytes, length) {
  const end = (length + 72) >> 6 << 6;
  bytes.fill(0, length, end);
  bytes[length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(end - 8, length * 8, true);
  let [a0, b0, c0, d0] = [0x67452301, 0xefcdab89 | 0, 0x98badcfe | 0, 0x10325476];
  for (let at = 0; at < end; at += 64) {
    for (let n = 0; n < 16; n += 1) words[n] = view.getInt32(at + 4 * n, true);
    let [a, b, c, d] = [a0, b0, c0, d0];
    for (let step = 0; step < 64; step += 1) {
      const round = step >> 4;
      let mixed, word;
      if (round === 0) { mixed = (b & c) | (~b & d); word = step; }
      else if (round === 1) { mixed = (d & b) | (~d & c); word = (5 * step + 1) & 15; }
      else if (round === 2) { mixed = b ^ c ^ d; word = (3 * step + 5) & 15; }
      else { mixed = c ^ (b | ~d); word = (7 * step) & 15; }
      const sum = (a + mixed + SINES[step] + words[word]) | 0;
      const shift = SHIFTS[4 * round + (step & 3)];
      a = d;
      d = c;
      c = b;
      b = (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0;
    }
    a0 = (a0 + a) | 0;
    b0 = (b0 + b) | 0;
    c0 = (c0 + c) | 0;
    d0 = (d0 + d) | 0;
  }
  const hex = (word) => DIGITS[word & 255] + DIGITS[word >>> 8 & 255] + DIGITS[word >>> 16 & 255] + DIGITS[word >>> 24];
  return hex(a0) + hex(b0) + hex(c0) + hex(d0);
}

/** Lets the page react between two parts of a long computation. */
const pause = () => new Promise((resolve) => { setTimeout(resolve); });

/** The identifier of names in the order of their bytes: a chain of MD5, each over the one before and a name. */
async function identify(names) {
  const encoder = new TextEncoder();
  let buffer = new Uint8Array(1024);
  let before = "";
  for (let n = 0; n < names.length; n += 1) {
    const text = `${before}${names[n]}\n`;
    if (buffer.length < 3 * text.length + 72) buffer = new Uint8Array(6 * text.length + 72);
    before = `${md5(buffer, encoder.encodeInto(text, buffer).written)}\n`;
    if (n % 50_000 === 49_999) await pause();
  }
  return before.trimEnd() || md5(buffer, 0);
}

/** The order of bytes in UTF-8, which is that of characters, and not of the halves of some in UTF-16. */
function inBytes(one, other) {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    if (one.charCodeAt(at) !== other.charCodeAt(at)) return one.codePointAt(at) - other.codePointAt(at);
  }
  return one.length - other.length;
}

/** Names, sorted, and each once. */
function sorted(names) {
  const each = [...new Set(names)].filter((name) => name !== "");
  // The order of JavaScript is that of the bytes where all is ASCII.
  return each.some((name) => /[^\0-\x7f]/.test(name)) ? each.sort(inBytes) : each.sort();
}

const MOST_NAMES = 1_000_000;
const SHOWN_NAMES = 10;
const DIRECTORIES = /^.*\//;
// What programs write beside the names of granules, which a granule may have, too.
const BESIDES = [
  [/^\\?[0-9a-f]{32,128} [ *]/, "checksums"],
  [/^\.\//, "./ before the names"],
  [/\s+$/, "spaces after the names"],
  [DIRECTORIES, "directories before the names"],
];
const counted = (number) => `${number.toLocaleString("en")} ${number === 1 ? "name" : "names"}`;

/** What only one of two sorted lists has. */
function differences(own, cited) {
  const [missing, extra] = [[], []];
  for (let a = 0, b = 0; a < own.length || b < cited.length;) {
    const order = a === own.length ? 1 : b === cited.length ? -1 : inBytes(own[a], cited[b]);
    if (order < 0) extra.push(own[a]);
    if (order > 0) missing.push(cited[b]);
    if (order <= 0) a += 1;
    if (order >= 0) b += 1;
  }
  return [["missing", missing], ["not in the set", extra]];
}

/** Compares a listing with the set of the page, and says so in paragraphs. */
async function compare(area, file) {
  const { identifier, granules, list } = area.dataset;
  const status = area.querySelector("[role=status]");
  const say = (text, kind = "") => {
    const paragraph = document.createElement("p");
    paragraph.className = kind;
    paragraph.textContent = text;
    status.append(paragraph);
  };
  status.replaceChildren();
  say("Comparing …");
  await pause();
  const text = await file.text();
  const isText = !text.includes("\0");
  let names = isText ? sorted(text.split(/\r?\n/)) : [];
  let identified = names.length > MOST_NAMES ? "" : await identify(names);
  status.replaceChildren();
  if (!isText) return say("The listing is not text in UTF-8: Windows may have saved it as UTF-16.", "warn");
  if (names.length > MOST_NAMES) return say(`The listing has more than ${counted(MOST_NAMES)}: use the command.`, "warn");
  for (const [beside, what] of BESIDES) {
    if (identified === identifier || names.length === 0 || !names.every((name) => beside.test(name))) continue;
    const bare = sorted(names.map((name) => name.replace(beside, "")));
    const identifiedBare = await identify(bare);
    // The names of the set may have directories, too.
    if (beside === DIRECTORIES && identifiedBare !== identifier) continue;
    [names, identified] = [bare, identifiedBare];
    say(`Your listing has ${what}, which are not compared.`, "warn");
  }
  if (identified === identifier) return say(`Your copy is the cited set: ${counted(names.length)}.`, "plus verdict");
  say(`Your copy is not the cited set: it has ${counted(names.length)} and DI:${identified}, the set has ${Number(granules).toLocaleString("en")}.`, "minus verdict");
  if (!list || Number(granules) > MOST_NAMES) return undefined;
  const response = await fetch(list, { headers: { accept: "text/plain" } });
  if (!response.ok) return undefined;
  // In files, it is the canonical list, compressed: what is known of the bytes follows a tab.
  const unzip = () => response.body.pipeThrough(new DecompressionStream("gzip"));
  const held = await new Response(list.endsWith(".gz") ? unzip() : response.body).text();
  for (const [what, differing] of differences(names, sorted(held.replace(/\t.*/g, "").split("\n")))) {
    if (differing.length === 0) continue;
    say(`${counted(differing.length)} ${what}: `);
    const shown = document.createElement("ul");
    for (const name of differing.slice(0, SHOWN_NAMES)) shown.appendChild(document.createElement("li")).textContent = name;
    if (differing.length > SHOWN_NAMES) shown.append("…");
    status.append(shown);
  }
  return undefined;
}

for (const area of document.querySelectorAll("[data-identifier]")) {
  area.hidden = false;
  area.addEventListener("dragover", (event) => { event.preventDefault(); });
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length > 0) compare(area, event.dataTransfer.files[0]);
  });
  area.querySelector("input").addEventListener("change", (event) => {
    if (event.target.files.length > 0) compare(area, event.target.files[0]);
  });
}

// On a site of files: the shard that an identifier or a digest begins with says where its set is.
const root = new URL(".", document.currentScript.src);
const shard = async (digits) => {
  const answer = await fetch(new URL(`di/${digits.slice(0, 2)}.json`, root));
  return answer.ok ? answer.json() : {};
};
const place = async (text) => {
  const digits = /(?:DI:|sha256:|#|^)([0-9a-f]{64}|[0-9a-f]{32})(?![0-9a-f])/i.exec(text)?.[1].toLowerCase();
  if (!digits) return null;
  // A digest that is not the first of its identifier has its own instances.
  const held = async (name) => (await shard(name)).sets?.[name];
  const periods = await held(digits) ?? await held((await shard(digits)).digests?.[digits] ?? "") ?? [];
  for (const { dataset, from } of periods) {
    const page = new URL(`datasets/${dataset}/history/${from.slice(0, 7)}.html#${digits}`, root);
    // Another dataset may have held it with another digest.
    if (periods.length === 1 || (await (await fetch(page)).text()).includes(digits)) return page;
  }
  return null;
};
for (const form of document.querySelectorAll("form[data-resolve]")) {
  const [field, said] = [form.querySelector("input"), form.querySelector("[role=status]")];
  const lead = async (text) => {
    const found = await place(text);
    if (found) location.replace(found);
    return found;
  };
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!await lead(field.value.trim())) said.textContent = "No set of this site has that identifier.";
  });
  lead(decodeURIComponent(location.pathname) + location.hash);
}

// On the page of a month: its head, the citation and the commands are those of the set that the address names, by
// its identifier or by its digest.
const nameSet = () => {
  const digits = location.hash.slice(1);
  const arrived = document.getElementById("arrived");
  if (!arrived || !/^([0-9a-f]{32}){1,2}$/.test(digits)) return;
  const ofDigest = digits.length === 64;
  const cells = [...document.querySelectorAll("td:nth-child(3), #subsets code")];
  const named = document.getElementById(digits) ?? cells.find((cell) => cell.textContent.includes(digits))?.closest("tr, div");
  if (!named) return;
  const id = named.textContent.match(/DI:([0-9a-f]{32})/)[1];
  const rewrite = (of, pattern, text) => {
    const element = document.getElementById(of);
    element.textContent = element.textContent.replace(pattern, text);
  };
  for (const of of ["replay", "expect"]) rewrite(of, /DI:[0-9a-f]{32}/, `DI:${id}`);
  rewrite("di", /.*/, `${root.href}${ofDigest ? "sha256:" : "DI:"}${digits}`);
  const [list, fate] = [named.querySelector("a"), arrived.querySelector(".fate")];
  arrived.querySelector(".main").href = list?.href ?? "#list";
  arrived.querySelector("[href^='#cite']").href = named.cells ? "#cite" : `#cite-${id}`;
  const [from, , , granules] = [...named.cells ?? []].map((cell) => cell.textContent);
  let held = [named];
  if (from) { // A subset has a citation of its own.
    const { dataset } = named.closest("table");
    const text = (row) => row.cells[ofDigest ? 2 : 1].textContent;
    const rows = [...named.parentNode.rows].slice(named.sectionRowIndex);
    const end = rows.findIndex((row) => text(row) !== text(named));
    held = end < 0 ? [document.getElementById("noted")] : rows.slice(0, end);
    const until = rows[end]?.cells[0].textContent ?? dataset[ofDigest ? "digestUntil" : "until"];
    const since = (!ofDigest && !named.previousElementSibling && dataset.from) || from;
    const isBack = named.dataset.now?.endsWith(ofDigest ? digits : "");
    const its = `Its ${granules} granules ${until ? "were" : "have been"} held${ofDigest ? " with this digest" : ""}`;
    const again = isBack ? ", and are held again now" : "";
    fate.textContent = `${its} ${until ? `from ${since} until ${until}${again}` : `since ${since}`}. `;
    rewrite("whose", /.*/s, `The set of ${from}.`);
    rewrite("citation", /DI:[0-9a-f]{32}, as held at \S+Z/, `DI:${id}, as held at ${from}`);
  } else fate.textContent = `${named.querySelector(".held").textContent}. `;
  for (const noted of held.flatMap((row) => [...row.querySelectorAll(".annotation")])) fate.append(noted.cloneNode(true));
  const count = parseInt((granules ?? fate.textContent).replaceAll(",", ""), 10);
  Object.assign(document.querySelector(".drop").dataset, { identifier: id, granules: count, list: list?.href ?? "" });
  arrived.hidden = false;
  scrollTo(0, 0);
};
addEventListener("hashchange", nameSet);
// Until then, the browser scrolls to the anchor.
addEventListener("load", () => { setTimeout(nameSet); });
nameSet();
