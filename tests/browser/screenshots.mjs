// Takes a picture of every page at every width, light and dark: node screenshots.mjs DIRECTORY [NAME]...
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { WIDTHS, launch } from "./browser.mjs";
import { pages, start } from "./site.mjs";

const [directory, ...names] = process.argv.slice(2);
mkdirSync(directory, { recursive: true });
const site = await start({ size: Number(process.env.GRANULES ?? 1_000_000), changes: Number(process.env.CHANGES ?? 100_000) });
const browser = await launch();
const page = await browser.newPage();
for (const [name, path] of Object.entries(await pages(site))) {
  if (names.length > 0 && !names.includes(name)) continue;
  for (const scheme of ["light", "dark"]) {
    for (const width of WIDTHS) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 900 });
      await page.goto(site.url + path);
      await page.screenshot({ path: join(directory, `${name}-${width}-${scheme}.png`), fullPage: true });
    }
  }
  await page.emulateMedia({ media: "print" });
  await page.pdf({ path: join(directory, `${name}.pdf`), format: "A4" });
  await page.emulateMedia({ media: "screen" });
}
await browser.close();
await site.stop();
