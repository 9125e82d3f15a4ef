// The picture in the README: a dataset's page, of the worked example, at a fixed time and size. Compares the
// committed one with the page as it is now; with UPDATE_PICTURES=1, writes it.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { launch } from "./browser.mjs";
import { startAt } from "./site.mjs";

const file = process.env.PICTURE ?? new URL("../../docs/dataset.png", import.meta.url).pathname;
const SIZE = { width: 1000, height: 690 };
/** So much may differ: with one font of the two missing it is 0.03; without the plot 0.06, of another page 0.15. */
const TOLERANCE = 0.05;

/** The part of the pixels that differ between two pictures of one size, seen from so far away that a word is a grey bar. */
function difference([left, right]) {
  const greys = async (png) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
    const [width, height] = [Math.round(image.width / 8), Math.round(image.height / 8)];
    const context = new OffscreenCanvas(width, height).getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, width, height);
    const { data } = context.getImageData(0, 0, width, height);
    return { size: `${image.width} x ${image.height}`, greys: data.filter((_, n) => n % 4 === 1) };
  };
  return Promise.all([greys(left), greys(right)]).then(([one, other]) => {
    if (one.size !== other.size) return { sizes: [one.size, other.size] };
    const differing = one.greys.filter((grey, n) => Math.abs(grey - other.greys[n]) > 24).length;
    return { part: differing / one.greys.length };
  });
}

/** What is wrong with the picture: nothing, or one sentence. */
export async function checkPicture(browser) {
  const site = await startAt("2001-03-20 12:00:00");
  const page = await browser.newPage();
  try {
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize(SIZE);
    await page.goto(`${site.url}/datasets/US.FOOL2.002/`);
    if (!(await page.textContent("#citation")).includes("Accessed 2001-03-20"))
      return ["the picture is not taken at a fixed time: apt-get install faketime"];
    const taken = await page.screenshot();
    if (process.env.UPDATE_PICTURES) {
      writeFileSync(file, taken);
      console.log(`${file}: ${taken.length} bytes`);
      return [];
    }
    const renew = "if the page is as it should be, renew the picture: UPDATE_PICTURES=1 .ci/browser (fonts: DejaVu and Liberation)";
    if (!existsSync(file)) return [`there is no docs/dataset.png: ${renew}`];
    await page.goto("about:blank");
    const { sizes, part } = await page.evaluate(difference, [readFileSync(file).toString("base64"), taken.toString("base64")]);
    if (sizes) return [`docs/dataset.png has ${sizes[0]} pixels, and the page ${sizes[1]}: ${renew}`];
    console.log(`docs/dataset.png: ${(100 * part).toFixed(1)} % differ from the page`);
    return part > TOLERANCE ? [`docs/dataset.png is no longer like the page, ${(100 * part).toFixed(1)} % differ: ${renew}`] : [];
  } finally {
    await page.close();
    await site.stop();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const browser = await launch();
  const findings = await checkPicture(browser);
  await browser.close();
  for (const finding of findings) console.error(finding);
  process.exit(findings.length > 0 ? 1 : 0);
}
