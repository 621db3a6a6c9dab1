/** A kind for the tests of this folder. */
import { required, int32, list, map, pointer, value, string, structs } from "#schema";
import { rootShape } from "./typed/shape.ts";

const v1 = structs("test/v1");

const port = v1("Port", "A port.", {
  port: required(1, int32, "Number."),
  protocol: value(2, string, "The protocol.", { default: "TCP" }),
  name: value(3, string, "The name."),
});

const unit = v1(
  "Unit",
  "An atomic struct.",
  { a: value(1, string, "A."), b: value(2, string, "B.") },
  {
    atomic: true,
  },
);

const toy = v1("Toy", "A field of each merge strategy.", {
  text: value(1, string, "A text."),
  number: pointer(2, int32, "A number."),
  data: value(3, map(string), "A granular map."),
  whole: value(4, map(string), "An atomic map.", { mapType: "atomic" }),
  ports: value(5, list(port), "A list keyed by port and protocol.", {
    listType: "map",
    listMapKeys: ["port", "protocol"],
  }),
  tags: value(6, list(string), "A set.", { listType: "set" }),
  args: value(7, list(string), "An atomic list."),
  unit: pointer(8, unit, "An atomic struct."),
});

export const shape = rootShape(toy);

const v2 = structs("test/v2");

const toy2 = v2("Toy", "The kind with another field name.", {
  entries: value(3, map(string), "A granular map."),
  ports: value(5, list(port), "A list keyed by port and protocol.", {
    listType: "map",
    listMapKeys: ["port", "protocol"],
  }),
  tags: value(6, list(string), "A set.", { listType: "set" }),
});

/** The kind in another version, in which the field data is called entries. */
export const shape2 = rootShape(toy2);
