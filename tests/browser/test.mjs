// Every page in a browser: at every width, light and dark, by keyboard alone; what axe-core, html-validate and the
// console say of it. Exits with 1 if something is found.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HtmlValidate } from "html-validate";
import { WIDTHS, launch } from "./browser.mjs";
import { checkPicture } from "./picture.mjs";
import { host, pages, start } from "./site.mjs";

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const findings = [];
const found = (what) => { findings.push(what); console.error(what); };
const expect = (is, what) => { if (!is) found(what); };

const site = await start({ size: Number(process.env.GRANULES ?? 1_000_000), changes: Number(process.env.CHANGES ?? 100_000) });
const browser = await launch();
const page = await browser.newPage();
let checked = 0;

page.on("console", (message) => { if (!message.text().includes("status of 404")) found(`${page.url()}: console: ${message.text()}`); });
page.on("pageerror", (error) => found(`${page.url()}: ${error}`));
let hosted = site.url;
page.on("request", (request) => expect(request.url().startsWith(site.url) || request.url().startsWith(hosted) || request.url().startsWith("data:"), `${page.url()} loads ${request.url()}`));

const validate = new HtmlValidate({ extends: ["html-validate:standard"], rules: {
  // maud writes attributes without quotes where HTML allows it, and elements of SVG with end tags.
  "no-inline-style": "error", "long-title": "off", "svg-focusable": "off" } });

// The Nu HTML checker reads all pages at once.
const sources = mkdtempSync(join(tmpdir(), "accession-html-"));
const all = await pages(site);
for (const [name, path] of Object.entries(all)) {
  const html = await (await fetch(site.url + path, { headers: { accept: "text/html" } })).text();
  writeFileSync(join(sources, `${name}.html`), html);
  const report = await validate.validateString(html);
  for (const result of report.results) {
    for (const message of result.messages) found(`${name}: html-validate: ${message.ruleId}: ${message.message} (${message.line}:${message.column})`);
  }
  for (const colorScheme of ["light", "dark"]) {
    for (const width of WIDTHS) {
      const at = `${name} at ${width}, ${colorScheme}`;
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await page.goto(site.url + path);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(overflow <= 0, `${at}: ${overflow} pixels wider than the screen`);
      // No text is smaller than 12 pixels, also where a drawing is scaled.
      const small = await page.evaluate(() => [...document.querySelectorAll("main *")]
        .filter((element) => element.childNodes.length > 0 && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
        .filter((element) => element.checkVisibility())
        .map((element) => {
          const svg = element.closest("svg");
          // A drawing without a view box is not scaled.
          const scale = svg?.viewBox.baseVal?.width ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
          return [parseFloat(getComputedStyle(element).fontSize) * scale, element.textContent.slice(0, 40)];
        })
        .filter(([size]) => size < 10.9));
      expect(small.length === 0, `${at}: small text: ${JSON.stringify(small[0])}`);
      // axe-core is not part of the page: it is given to the tab, which the page's policy does not see.
      const session = await browser.newCDPSession(page);
      const { readFileSync } = await import("node:fs");
      await session.send("Runtime.evaluate", { expression: readFileSync(axe, "utf8") });
      const { result } = await session.send("Runtime.evaluate", { awaitPromise: true, returnByValue: true,
        expression: "axe.run(document, { resultTypes: ['violations'] }).then(r => r.violations.map(v => v.id + ': ' + v.help + ' ' + v.nodes.slice(0, 2).map(n => n.html.slice(0, 120)).join(' | ')))" });
      await session.detach();
      for (const violation of result.value) found(`${at}: axe: ${violation}`);
      checked += 1;
    }
  }
}

const nu = createRequire(import.meta.url).resolve("vnu-jar/build/dist/vnu.jar");
const read = spawnSync("java", ["-jar", nu, "--errors-only", "--skip-non-html", sources], { encoding: "utf8" });
if (read.error) found("Nu HTML checker: java is not installed");
else read.stderr.split("\n").filter((line) => line !== "").forEach((line) => found(`Nu HTML checker: ${line}`));
rmSync(sources, { recursive: true });

/** Presses Tab until the focused element is the one that is meant; fails if it is not reached. */
async function tabTo(label) {
  for (let n = 0; n < 80; n += 1) {
    await page.keyboard.press("Tab");
    const text = await page.evaluate(() => {
      const element = document.activeElement;
      return (element.labels?.[0]?.textContent ?? element.textContent ?? "").trim();
    });
    if (text.includes(label)) {
      const outlined = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle !== "none" || document.activeElement.closest("svg") !== null);
      expect(outlined, `${page.url()}: the focus on "${label}" cannot be seen`);
      return;
    }
  }
  found(`${page.url()}: "${label}" cannot be reached by keyboard`);
}

await page.emulateMedia({ colorScheme: "light" });
for (const width of WIDTHS) {
  await page.setViewportSize({ width, height: 900 });
  // A reader has an identifier from a paper.
  await page.goto(site.url);
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement.textContent === "Skip to the content"), "the first stop skips the navigation");
  await tabTo("an identifier from a paper");
  await page.keyboard.type("DI:763122197bfb3ffbf0da14adbfb1b13b");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/DI:763122197bfb3ffbf0da14adbfb1b13b");
  await page.goto(`${site.url}/datasets/US.FOOL2.002@2001-01-05`);
  await tabTo("Compare with the set before");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/compare/**");
  expect((await page.textContent("main")).includes("1 granule added"), "the comparison shows what changed");
  await page.goto(`${site.url}/DI:763122197bfb3ffbf0da14adbfb1b13b`);
  await tabTo("Get the list (");
  const list = await page.evaluate(async () => (await fetch(document.activeElement.href)).text());
  expect(list.trim().split("\n").length === 12, "the list has 12 granules");

  // An author has a dataset and a date.
  await page.goto(site.url);
  await tabTo("FOO Level 2");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/datasets/US.FOOL2.002/");
  await tabTo("Used it on another day");
  await page.keyboard.type("01052001");
  await tabTo("Show that set");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/datasets/US.FOOL2.002@2001-01-05");
  expect((await page.textContent("blockquote")).includes("DI:763122197bfb3ffbf0da14adbfb1b13b, as held at 2001-01-05"), "the citation is that of the date");
  await tabTo("BibTeX");
  const [bibtex] = await Promise.all([
    fetch(await page.evaluate(() => document.activeElement.href)).then((response) => response.text()),
  ]);
  expect(bibtex.startsWith("@dataset{"), "the link leads to the BibTeX entry");

  // A check, by keyboard.
  await page.goto(`${site.url}/check`);
  await tabTo("Citations");
  await page.keyboard.type("DI:763122197bfb3ffbf0da14adbfb1b13b, as held at 2001-01-05");
  await tabTo("Check");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#results");
  expect((await page.textContent("#results")).includes("confirmed"), "the citation is confirmed");
}

// Two rows of a history are marked, and compared.
await page.goto(`${site.url}/datasets/US.FOOL2.002/history`);
await page.getByLabel("Before: 2 Jan 2001").check();
await page.getByLabel("After: 3 Feb 2001").check();
await page.getByRole("button", { name: "Compare the two that are marked" }).click();
await page.waitForURL("**/compare/DI:*...DI:*");
expect((await page.textContent("h1")) === "2 granules added", "the two rows that were marked are compared");

// The copy buttons are there, and copy.
await page.goto(`${site.url}/datasets/US.FOOL2.002/`);
await browser.grantPermissions(["clipboard-read", "clipboard-write"]);
await page.getByLabel("Copy the citation").click();
const copied = await page.evaluate(() => navigator.clipboard.readText());
expect(copied === (await page.textContent("#citation")), `the citation is copied: ${copied}`);
expect((await page.getByLabel("Copy the citation").textContent()) === "Copied", "the button says that it has copied");

// A listing is compared in the browser, with the set of the page that is open.
const compareListings = async (set, missing = true) => {
  const names = String(site.run("granules", set)).trim().split("\n");
  const same = `Your copy is the cited set: ${names.length} names.`;
  for (const [listing, verdict] of [
    [[...names].reverse(), same],
    [names.map((name) => `./${name}`), "Your listing has ./ before the names, which are not compared." + same],
    [names.map((name) => `${name} `), "spaces after the names, which are not compared." + same],
    [names.map((name) => `2001/${name}`), "directories before the names, which are not compared." + same],
    [names.map((name) => `${"0a".repeat(32)}  ./${name}`), "checksums, which are not compared.Your listing has ./ before the names, which are not compared." + same],
    [`\ufeff${names.join("\r\n")}\r\n`.split("\n"), same],
    [[...names.slice(1), "other"], missing ? "1 name missing: " + names[0] : "Your copy is not the cited set"],
    [[...names, "other"], missing ? "1 name not in the set: other" : "Your copy is not the cited set"],
    [names.slice(3), missing ? "3 names missing: " + names.slice(0, 3).join("") : "Your copy is not the cited set"],
    [["\ufeffa\0b"], "Windows may have saved it as UTF-16."],
  ]) {
    await page.setInputFiles("#listing", { name: "listing.txt", mimeType: "text/plain", buffer: Buffer.from(listing.join("\n")) });
    await page.waitForFunction((expected) => document.querySelector(".drop [role=status]").textContent.includes(expected), verdict, { timeout: 5000 })
      .catch(() => found(`a listing is compared with ${set}: "${verdict}" is not shown`));
  }
};
await page.goto(`${site.url}/DI:763122197bfb3ffbf0da14adbfb1b13b`);
await compareListings("DI:763122197bfb3ffbf0da14adbfb1b13b");

// Without a script, there are no buttons that do nothing.
const plain = await browser.browser()?.newContext({ javaScriptEnabled: false });
if (plain) {
  const still = await plain.newPage();
  await still.goto(`${site.url}/datasets/US.FOOL2.002/`);
  expect(!(await still.isVisible("button[data-copy]")), "copy buttons are hidden without the script");
  await plain.close();
}

// A published directory resolves identifiers and digests without a program: from a citation, with what follows it in a
// sentence, and from its start page.
for (const base of ["", "/some/registry"]) {
  const files = await host(site, base);
  hosted = files.url;
  const identifier = "763122197bfb3ffbf0da14adbfb1b13b";
  const { instances } = await site.json("/datasets/US.FOOL2.002/history");
  const { digest } = instances.find((instance) => instance.identifier === identifier);
  const history = `${files.url}/datasets/US.FOOL2.002/history/`;
  const place = `${history}2001-01.html#${identifier}`;
  // What became known of the files of the latest set later ends only its digest before, and has a row of its own.
  const [later, first] = instances.filter((instance) => instance.identifier === instances[0].identifier);
  const { identifier: part } = JSON.parse(String(site.run("show", "US.FOOL2.002", "--json"))).subsets[0];
  for (const [path, leads, says] of [
    [digest, "2001-01", "Its 12 granules were held with this digest from 2001-01-03T00:00:00Z until 2001-02-03T00:00:00Z."],
    [`DI:${first.identifier}`, "2001-03", `Its 14 granules have been held since ${first.timestamp}.`],
    [first.digest, "2001-03", `until ${later.timestamp}.`],
    [later.digest, later.timestamp.slice(0, 7), `have been held with this digest since ${later.timestamp}.`],
    [`DI:${part}`, "2001-01", "of those held since 3 Jan 2001: FOOL2.v2.0[1-5]*."],
  ]) {
    await page.goto(`${files.url}/${path}`);
    await page.waitForURL(`${history}${leads}.html#${path.split(":")[1]}`);
    const head = await page.textContent("#arrived");
    expect(head.includes(`${files.url}/${path}`) && head.includes(says), `${path}: the head says "${says}": ${head}`);
  }
  expect((await page.getAttribute("#arrived a:text-is('Cite')", "href")) === `#cite-${part}`, "a subset has its own citation");
  for (const path of [`/DI:${identifier}`, `/DI:${identifier}).`, `/DI:${identifier}/granules`]) {
    await page.goto(files.url + path);
    await page.waitForURL(place);
    expect((await page.textContent(":target")).includes(`DI:${identifier}`), `${path} leads to the set`);
  }
  // The citation and the command there are of this set, and not of the last one of the month.
  for (const [id, expected] of [
    ["citation", `https://data.example.org${base}/DI:${identifier}, as held at 2001-01-03T00:00:00Z`],
    ["whose", "The set of 2001-01-03T00:00:00Z."],
    ["replay", `accession granules DI:${identifier} --site https://data.example.org${base}`],
  ]) expect((await page.textContent(`#${id}`)).includes(expected), `#${id} names the set of the address`);
  // What the set is, until when it was held, and a comparison with it are on the first screen.
  const arrived = await page.textContent("#arrived");
  for (const expected of ["exactly these granules", `${files.url}/DI:${identifier}`, "Its 12 granules were held from 2001-01-03T00:00:00Z until 2001-02-03T00:00:00Z."])
    expect(arrived.includes(expected), `the head of the month says "${expected}": ${arrived}`);
  expect((await page.evaluate(() => scrollY)) === 0, "the title is on the screen");
  await compareListings(`DI:${identifier}`, false);
  // The page of a dataset has the list of its latest set.
  await page.goto(`${files.url}/datasets/US.FOOL2.002/`);
  await compareListings("US.FOOL2.002");
  // A month under a former name.
  await page.goto(`${files.url}/datasets/FORMER/history/2001-01.html#${identifier}`);
  await page.waitForURL(place);
  await page.goto(`${files.url}/`);
  await page.fill("#identifier", `DI:${identifier}, as held at 2001-01-05`);
  await page.keyboard.press("Enter");
  await page.waitForURL(place);
  await page.goto(`${files.url}/DI:${"0".repeat(32)}`);
  expect((await page.textContent("h1")) === "There is no such page", "an unknown identifier is said to be unknown");
  await page.fill("#identifier", "0".repeat(32));
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("#found").textContent.includes("No set of this site"));
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    for (const path of ["/", "/404.html", "/datasets/US.FOOL2.002/history/", "/datasets/US.FOOL2.002/history/2001-01.html"]) {
      await page.goto(files.url + path);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(overflow <= 0, `${path} of files at ${width}: ${overflow} pixels wider than the screen`);
    }
  }
  files.stop();
}

// The picture in the README is one of the page.
for (const finding of await checkPicture(browser)) found(finding);

await browser.close();
await site.stop();
console.log(`${Object.keys(all).length} pages, ${checked} views: ${findings.length} findings`);
process.exit(findings.length > 0 ? 1 : 0);
