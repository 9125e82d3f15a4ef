// The browser: Debian's chromium, driven by playwright-core.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

/** A browser with a new profile, which is removed when it is closed. */
export async function launch() {
  const profile = mkdtempSync(join(tmpdir(), "accession-profile-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
    bypassCSP: false,
  });
  context.on("close", () => rmSync(profile, { recursive: true, force: true, maxRetries: 5 }));
  return context;
}

export const WIDTHS = [360, 800, 1440];
