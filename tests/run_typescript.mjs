// Runs a TypeScript program on any Node.js, of which those before 22.18 read no types: compiles it beside itself, and imports that.
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";

const source = resolve(process.argv[2]);
const compiled = source.replace(/\.mts$/, ".mjs");
const { outputText } = ts.transpileModule(await readFile(source, "utf8"), {
  compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
});
await writeFile(compiled, outputText);
await import(pathToFileURL(compiled));
