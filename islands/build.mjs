// Bundles islands/pages/*.ts into the directory of built files, with the licenses of what they contain.
// The names of files contain a hash of their content; manifest.json has them by page.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";

const here = import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const built = join(here, "../src/deemster/web/built");
const pages = readdirSync(join(here, "pages")).filter((name) => name.endsWith(".ts"));

rmSync(built, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: pages.map((name) => `pages/${name}`),
  outdir: built,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  loader: { ".css": "text" },
  metafile: true,
  logLevel: "warning",
});

const manifest = {};
for (const [path, output] of Object.entries(metafile.outputs)) {
  if (output.entryPoint?.startsWith("pages/")) {
    manifest[basename(output.entryPoint, ".ts")] = basename(path);
  }
}
writeFileSync(join(built, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);

const packages = new Set(
  Object.keys(metafile.inputs).flatMap(
    (path) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1] ?? [],
  ),
);
const licenses = [...packages].sort().map((name) => {
  const file = join(here, "node_modules", name, "LICENSE");
  return `${name}\n\n${existsSync(file) ? readFileSync(file, "utf8") : "MIT"}\n`;
});
writeFileSync(join(built, "licenses.txt"), licenses.join("\n"));
