// The browser: Debian's chromium, driven by playwright-core.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

/** A browser with a new profile. */
export function launch() {
  return chromium.launchPersistentContext(mkdtempSync(join(tmpdir(), "accession-profile-")), {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
    bypassCSP: false,
  });
}

export const WIDTHS = [360, 800, 1440];
