import assert from "node:assert/strict";
import * as api from "#api";
import { type Field, resolved, type StructType, type Type } from "#schema";
import { quantity } from "#meta";
import { defaulted, type Sketch } from "../../testing.ts";

type Step = string | number;

/** Paths of the amounts by resource below the type, of lists the first element. */
function amountsBelow(given: Type, seen: readonly StructType<any>[] = []): readonly Step[][] {
  const type = resolved(given);
  if (type.tag === "list") return amountsBelow(type.element, seen).map((path) => [0, ...path]);
  if (type.tag === "map") return resolved(type.value) === quantity ? [[]] : [];
  if (type.tag !== "struct" || seen.includes(type)) return [];
  return Object.entries<Field>(type.fields).flatMap(([name, field]) =>
    amountsBelow(field.type, [...seen, type]).map((path) =>
      field.inline === true ? path : [name, ...path],
    ),
  );
}

/** An object that has nothing but the value at the path. */
function sketchOf(path: readonly Step[], value: Sketch): any {
  return path.reduceRight<unknown>(
    (inner, step) => (typeof step === "number" ? [inner] : { [step]: inner }),
    value,
  );
}

const at = (object: any, path: readonly Step[]): any =>
  path.reduce((inner, step) => inner?.[step], object);

/** Kubernetes leaves these as the client wrote them; claims for devices have no resource lists. */
const asWritten = /^RuntimeClass overhead\.podFixed$|^ResourceClaim(Template)? /;

describe("amounts of resources", () => {
  for (const kind of api.builtinKinds) {
    const hub = kind.versions.find(({ convert }) => convert === "hub");
    for (const path of hub === undefined ? [] : amountsBelow(hub.struct)) {
      const name = `${kind.kind} ${path.join(".")}`;
      const kept = asWritten.test(name);
      it(`${name}: ${kept ? "are kept" : "are rounded up to thousandths"}`, () => {
        const sketch = sketchOf(path, { cpu: "1500u", memory: "1n", pods: "2" });
        const expected = kept
          ? { cpu: "1500u", memory: "1n", pods: "2" }
          : { cpu: "2m", memory: "1m", pods: "2" };
        assert.deepEqual(at(defaulted(kind, sketch), path), expected);
      });
    }
  }
});
