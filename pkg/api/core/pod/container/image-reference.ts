/** References of container images, as in `registry.example.com:5000/team/app:v1@sha256:…`. */

const DEFAULT_TAG = "latest";
const LONGEST_NAME = 255;

const component = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
const host = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
const address = `(?:${host}(?:\\.${host})*|\\[[A-Fa-f0-9:]+\\])(?::[0-9]+)?`;
const reference = new RegExp(
  `^((?:${address}/)?${component}(?:/${component})*)(?::([\\w][\\w.-]{0,127}))?(?:@(.+))?$`,
);
const digestForm = /^(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})$/;
const bareDigest = /^[a-f0-9]{64}$/;

/** The tag that is pulled: `latest` without tag and digest, "" for no valid reference. */
function tagOfImage(image: string): string {
  if (bareDigest.test(image)) return "";
  const match = reference.exec(image);
  const [, name = "", tag = "", digest = ""] = match ?? [];
  if (match === null || name.length > LONGEST_NAME) return "";
  if (digest !== "" && !digestForm.test(digest)) return "";
  return tag === "" && digest === "" ? DEFAULT_TAG : tag;
}

/** The pull policy of those who name none. */
export function pullPolicyOf(image: string): "Always" | "IfNotPresent" {
  return tagOfImage(image) === DEFAULT_TAG ? "Always" : "IfNotPresent";
}
