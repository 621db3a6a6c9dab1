// Downloads files of packages for another platform, which `npm ci` does not install.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { run } from "./setup.mjs";

/**
 * Downloads the version of a package that the lock file pins, verifies its checksum, and unpacks one
 * of its files below `directory`. Returns the path of the file.
 */
export function fetchLockedFile(lockFile, name, file, directory) {
  const { packages } = JSON.parse(readFileSync(lockFile, "utf8"));
  const { version, integrity } = packages[`node_modules/${name}`];
  const target = path.join(directory, path.basename(name));
  mkdirSync(target, { recursive: true });
  const options = { cwd: target, stdio: ["ignore", "ignore", "inherit"] };
  run("npm", ["pack", `${name}@${version}`, "--loglevel=error"], options);
  const tarball = `${name.replace("@", "").replace("/", "-")}-${version}.tgz`;
  const digest = createHash("sha512").update(readFileSync(path.join(target, tarball)));
  if (`sha512-${digest.digest("base64")}` !== integrity) {
    throw new Error(`${name}@${version} does not match the checksum in ${lockFile}`);
  }
  run("tar", ["-xzf", tarball, `package/${file}`], options);
  return path.join(target, "package", file);
}
