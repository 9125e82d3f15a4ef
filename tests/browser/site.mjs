// A registry and the server over it, for the tests in a browser.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const fixtures = process.env.FIXTURES ?? new URL("../../fixtures/seed/", import.meta.url).pathname;

/** The program under test. */
export const program = process.env.ACCESSION ?? new URL("../../target/release/accession", import.meta.url).pathname;

/** A directory for a registry, and the program in it. It reads the clock of `environment`. */
function place(environment = process.env) {
  const directory = mkdtempSync(join(tmpdir(), "accession-browser-"));
  const run = (...words) =>
    execFileSync(program, ["--registry", join(directory, "accession.db"), "--quiet", ...words], { stdio: ["ignore", "pipe", "ignore"], env: environment });
  return { directory, run, environment };
}

/** The dataset of the worked example, without the words that are said of its sets. */
function example(run) {
  run("ingest", "US.FOOL2.002", "--create", "--at", "2001-01-02", `${fixtures}us-2001-01-02.txt`);
  run("dataset", "edit", "US.FOOL2.002", "--doi", "10.9999/US/FOOL2.v2", "--title", "FOO Level 2",
    "--description", "Level 2 retrievals of the quantity foo from a fictional observatory, one granule for each orbit, on a 5 km grid. The worked example of the rule by which identifiers are computed.",
    "--creator", "Tilmes, Curt (0000-0002-1825-0097)", "--creator", "{Example Archive, US}", "--publisher", "US Archive",
    "--year", "2001", "--dataset-version", "002", "--licence", "CC-BY-4.0", "--url", "https://example.org/foo", "--archive", "US");
  run("ingest", "US.FOOL2.002", "--at", "2001-01-03", `${fixtures}us-2001-01-03.txt`, "--note", "late granule of orbit 12");
  run("ingest", "US.FOOL2.002", "--at", "2001-02-03", `${fixtures}us-2001-02-03.txt`);
  run("delete", "US.FOOL2.002", "--at", "2001-03-01", `${fixtures}us-2001-03-01-deleted.txt`, "--note", "bad checksum");
  run("ingest", "US.FOOL2.002", "--at", "2001-03-03T09:41:07.204518Z", `${fixtures}us-2001-03-03.txt`);
}

/** Only the worked example, seen at `time`, which does not pass: `2001-03-20 12:00:00`. */
export function startAt(time) {
  const clock = { TZ: "UTC", FAKETIME: time, DONT_FAKE_MONOTONIC: "1", LD_PRELOAD: "/usr/$LIB/faketime/libfaketimeMT.so.1" };
  const filled = place({ ...process.env, ...clock });
  example(filled.run);
  return serve(filled);
}

/** Fills a registry and serves it. `size` is the number of granules of the large dataset. */
export async function start({ size = 1_000_000, changes = 100_000 } = {}) {
  const filled = place();
  const { directory, run } = filled;
  const file = (name, text) => { writeFileSync(join(directory, name), text); return join(directory, name); };

  example(run);
  run("ingest", "THEM.FOOL2.002", "--create", "--at", "2001-02-01", `${fixtures}them-2001-02-01.txt`);

  // A large dataset, and a long history: three years of changes at irregular times.
  const id = (n) => `MOD09GQ.A${2000 + (n % 20)}${String(n % 365).padStart(3, "0")}.h${String(n % 36).padStart(2, "0")}v${String(n % 18).padStart(2, "0")}.061.${String(n).padStart(13, "0")}`;
  run("ingest", "LARGE.061", "--create", "--at", "2020-01-01", file("large.txt", Array.from({ length: size }, (_, n) => id(n)).join("\n")));
  run("ingest", "LARGE.061", "--at", "2020-06-01", "--note", "reprocessed with calibration 4.1", "--id", "one-more-granule");
  run("dataset", "edit", "LARGE.061", "--title", "Surface reflectance, daily, 250 m, of the whole land surface (reprocessed)", "--publisher", "US Archive");
  let state = 7;
  const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  const lines = [];
  const held = [];
  let at = Date.UTC(2018, 0, 1);
  for (let n = 0; n < changes; n += 1) {
    at += 1000 + Math.floor(random() * 1_800_000);
    const time = new Date(at).toISOString();
    if (held.length > 20 && random() < 0.2) lines.push(`${time}\t-\t${held.pop()}`);
    else { held.push(`long-${n}`); lines.push(`${time}\t+\tlong-${n}`); }
  }
  run("import", "LONG", file("changes.tsv", `${lines.join("\n")}\n`), "--create", "--format", "changes");
  run("dataset", "withdraw", "LONG", "--note", "The instrument's clock drifted; see version 2.");
  run("dataset", "reinstate", "LONG");

  run("ingest", "GONE", "--create", "--at", "2010-05-05", "--id", "x", "--id", "y", "--id", "z");
  run("dataset", "edit", "GONE", "--title", "A dataset that was withdrawn");
  run("dataset", "withdraw", "GONE", "--note", "Superseded by version 2, with corrected geolocation.");
  run("dataset", "create", "EMPTY", "--title", "A dataset that has not begun");
  run("annotate", "US.FOOL2.002@2001-02-03T00:00:00Z", "the time of orbit 13 is off by a second", "--questionable");
  run("cite", "US.FOOL2.002@2001-01-05", "--select", "FOOL2.v2.0[1-5]*");

  // Files whose bytes are known, and checked; one of them was lost since.
  const root = join(directory, "files");
  mkdirSync(root);
  const names = String(run("granules", "US.FOOL2.002")).trim().split("\n");
  for (const name of names) writeFileSync(join(root, name), `the bytes of ${name}`);
  run("fixity", "compute", "US.FOOL2.002", "--root", root);
  rmSync(join(root, names[3]));
  try { run("fixity", "check", "US.FOOL2.002", "--root", root); } catch (error) { if (error.status !== 1) throw error; }
  run("dataset", "edit", "US.FOOL2.002", "--granule-url", "https://data.example.org/fool2/{granule}");

  return serve(filled);
}

/** The server over a registry. */
async function serve({ directory, run, environment }) {
  const server = spawn(program, ["--registry", join(directory, "accession.db"), "--quiet", "serve", "--listen", "127.0.0.1:0",
    "--site-name", "US Archive registry", "--contact", "archive@example.org"], { stdio: ["ignore", "pipe", "inherit"], env: environment });
  const line = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data))));
  const url = line.match(/http:\/\/[^/]+/)[0];
  const json = async (path) => (await fetch(url + path, { headers: { accept: "application/json" } })).json();
  return {
    url,
    json,
    run,
    async stop() {
      server.kill("SIGTERM");
      await new Promise((resolve) => server.once("exit", resolve));
      rmSync(directory, { recursive: true });
    },
  };
}

/** A static host over a published directory below `base`: it sends files, and 404.html in place of one that is not there. */
export async function host(site, base) {
  const www = mkdtempSync(join(tmpdir(), "accession-www-"));
  site.run("publish", www, "--public-url", `https://data.example.org${base}`);
  const types = { html: "text/html", css: "text/css", js: "text/javascript", json: "application/json", svg: "image/svg+xml" };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://host");
    let file = pathname.startsWith(`${base}/`) ? join(www, decodeURIComponent(pathname.slice(base.length))) : "";
    if (file && existsSync(file) && statSync(file).isDirectory()) file = join(file, "index.html");
    const found = file && existsSync(file);
    const sent = found ? file : join(www, "404.html");
    response.writeHead(found ? 200 : 404, { "content-type": types[sent.split(".").pop()] ?? "application/octet-stream" });
    response.end(readFileSync(sent));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () => { server.close(); server.closeAllConnections(); rmSync(www, { recursive: true }); };
  return { url: `http://127.0.0.1:${server.address().port}${base}`, stop };
}

/** The pages that are looked at, by a name for their pictures. */
export async function pages(site) {
  const identifier = async (name) => (await site.json(`/datasets/${name}/`)).latest.identifier;
  const [latest, large] = [await identifier("US.FOOL2.002"), await identifier("LARGE.061")];
  const largeHistory = await site.json("/datasets/LARGE.061/history");
  const subset = JSON.parse(String(site.run("show", "US.FOOL2.002", "--json"))).subsets[0].identifier;
  return {
    index: "/",
    "search-none": "/?q=nothing+has+this+name",
    dataset: "/datasets/US.FOOL2.002/",
    "dataset-large": "/datasets/LARGE.061/",
    "dataset-long": "/datasets/LONG/",
    "dataset-withdrawn": "/datasets/GONE/",
    "dataset-empty": "/datasets/EMPTY/",
    history: "/datasets/US.FOOL2.002/history",
    "history-long": "/datasets/LONG/history",
    instance: "/datasets/US.FOOL2.002@2001-01-05",
    set: "/DI:763122197bfb3ffbf0da14adbfb1b13b",
    "set-latest": `/DI:${latest}`,
    "set-large": `/DI:${largeHistory.instances[1].identifier}`,
    "set-large-latest": `/DI:${large}`,
    "set-subset": `/DI:${subset}`,
    identifier: "/identifier",
    compare: "/compare/US.FOOL2.002@2001-02-05...US.FOOL2.002",
    "compare-same": "/compare/US.FOOL2.002...US.FOOL2.002",
    check: "/check",
    "check-results": `/check?text=${encodeURIComponent("{ doi:10.9999/US/FOOL2.v2, 2001-01-05, DI:763122197bfb3ffbf0da14adbfb1b13b }\nDI:7fb1e8ba9b0c9888858b66f6a1732d2c, as held at 2001-02-05 by US\nDI:00000000000000000000000000000000")}`,
    "not-found": "/datasets/NONE/",
    "unknown-set": "/DI:00000000000000000000000000000000",
  };
}
