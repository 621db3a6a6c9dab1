/** Parser of image references such as `registry.example.com:5000/team/app:v1@sha256:…`. */

const defaultTag = "latest";
/** Maximum length of a repository path without the registry's domain. */
const maxPathLength = 255;

const component = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
const host = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
const address = `(?:${host}(?:\\.${host})*|\\[[A-Fa-f0-9:]+\\])(?::[0-9]+)?`;
const reference = new RegExp(
  `^((?:${address}/)?${component}(?:/${component})*)(?::([\\w][\\w.-]{0,127}))?(?:@(.+))?$`,
);
const digestForm = /^(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})$/;
const bareDigest = /^[a-f0-9]{64}$/;

/** Tag that is pulled: `latest` without tag and digest, "" for an invalid reference. */
function tagOfImage(image: string): string {
  if (bareDigest.test(image)) return "";
  const match = reference.exec(image);
  const [, name = "", tag = "", digest = ""] = match ?? [];
  if (match === null || repositoryPath(name).length > maxPathLength) return "";
  if (digest !== "" && !digestForm.test(digest)) return "";
  return tag === "" && digest === "" ? defaultTag : tag;
}

/** Repository path in the registry; a Docker Hub image without slash belongs to `library`. */
function repositoryPath(name: string): string {
  const slash = name.indexOf("/");
  const first = name.slice(0, Math.max(slash, 0));
  const isDomain = /[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase();
  const path = isDomain ? name.slice(slash + 1) : name;
  const isHub = !isDomain || first === "docker.io" || first === "index.docker.io";
  return isHub && !path.includes("/") ? `library/${path}` : path;
}

/** Default imagePullPolicy of an image. */
export function pullPolicyOf(image: string): "Always" | "IfNotPresent" {
  return tagOfImage(image) === defaultTag ? "Always" : "IfNotPresent";
}
