/** Answers of other servers in which one value has another type. */
type Path = readonly (string | number)[];

/** A client, and the answer that it decodes. */
export interface AnsweredPlace {
  readonly valid: unknown;
  /** Sends the answer to the client; rejects if it takes the failure path. */
  readonly ask: (answer: unknown) => Promise<unknown>;
  /** Type of each field, by its path, such as `status.user.groups.0`. */
  readonly fields: Readonly<Record<string, Type>>;
  /** Whether `null` is an empty answer, as in Go. */
  readonly takesNull?: boolean;
}

type Type = "string" | "boolean" | "number" | "object" | "array" | "kind" | "quantity";

const values: Readonly<Record<string, unknown>> = {
  string: "x",
  boolean: true,
  number: 5,
  object: {},
  array: [5],
};

function wrongValues(type: Type): readonly unknown[] {
  const right: readonly string[] = { kind: ["string"], quantity: ["string", "number"] }[
    type as string
  ] ?? [type];
  const wrong = Object.entries(values).filter(([name]) => !right.includes(name));
  const others = wrong.map(([, value]) => value);
  return type === "kind" || type === "quantity" ? [...others, "Another"] : others;
}

function replaced(value: unknown, [key, ...rest]: Path, by: unknown): unknown {
  if (key === undefined) return by;
  const copy: any = Array.isArray(value) ? [...value] : { ...(value as object) };
  copy[key] = replaced(copy[key], rest, by);
  return copy;
}

/** Answers that differ from the valid one in one value, which has another type. */
export function hostileAnswers({ valid, fields, takesNull }: AnsweredPlace): readonly unknown[] {
  const isList = Array.isArray(valid);
  const roots = [5, "x", true, isList ? {} : [], ...(takesNull ? [] : [null])];
  const mutants = Object.entries(fields).flatMap(([name, type]) => {
    const path = name.split(".").map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    return wrongValues(type).map((value) => replaced(valid, path, value));
  });
  return [...roots, ...mutants];
}

/** Aggregated discovery of one resource. */
export const groupDiscoveries = {
  kind: "APIGroupDiscoveryList",
  items: [
    {
      metadata: { name: "g" },
      versions: [
        {
          version: "v1",
          freshness: "Current",
          resources: [
            {
              resource: "r",
              scope: "Cluster",
              verbs: ["get"],
              shortNames: ["s"],
              responseKind: { kind: "R" },
              subresources: [{ subresource: "status" }],
            },
          ],
        },
      ],
    },
  ],
};
