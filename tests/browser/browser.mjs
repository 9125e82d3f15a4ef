// The browser: Debian's chromium, driven by playwright-core.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

/** A browser with a new profile, which is removed when the program ends. */
export function launch() {
  const profile = mkdtempSync(join(tmpdir(), "accession-profile-"));
  process.on("exit", () => {
    try {
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    } catch {
      // The browser has not ended yet: the profile stays.
    }
  });
  return chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
    bypassCSP: false,
  });
}

export const WIDTHS = [360, 800, 1440];
