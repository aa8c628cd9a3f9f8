#!/usr/bin/env node
// Starts the binary that npm installed for this system: one of the packages in `optionalDependencies`.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = require("./package.json").name;
const part = `${name}-${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "vector.exe" : "vector";

let binary;
try {
    binary = require.resolve(`${part}/${file}`);
} catch {
    console.error(
        `error: the package ${part} is missing: npm installs it unless optional dependencies are left out ` +
            `(--omit=optional), or there is no Vector for this system. Install ${name} again.`,
    );
    process.exit(1);
}

const vector = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
vector.on("error", (error) => {
    console.error(`error: ${binary} cannot be started: ${error.message}`);
    process.exit(1);
});
// A terminal sends its signals to Vector as well, which decides what to do; others only come here.
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) {
    process.on(signal, () => vector.kill(signal));
}
vector.on("exit", (code, signal) => {
    process.exit(signal ? 128 + constants.signals[signal] : code);
});
