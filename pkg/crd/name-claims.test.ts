import assert from "node:assert/strict";
import { NameClaims } from "./name-claims.ts";

const cats = { plural: "cats", singular: "cat", kind: "Cat", listKind: "CatList" };
const dogs = { plural: "dogs", kind: "Dog", shortNames: ["d", "cat"] };

describe("crd/name-claims", () => {
  const claims = (): NameClaims => {
    const made = new NameClaims();
    made.set("cats.a", cats);
    made.set("dogs.a", dogs);
    return made;
  };

  it("finds all definitions by plural, singular and short name", () => {
    const made = claims();
    assert.deepEqual([...made.ofResource("cat")].sort(), ["cats.a", "dogs.a"]);
    assert.deepEqual([...made.ofResource("dogs")], ["dogs.a"]);
    assert.deepEqual([...made.ofResource("Cat")], [], "a kind is no resource name");
  });

  it("finds definitions by kind and list kind", () => {
    const made = claims();
    assert.deepEqual([...made.ofKind("Cat")], ["cats.a"]);
    assert.deepEqual([...made.ofKind("CatList")], ["cats.a"]);
    assert.deepEqual([...made.ofKind("cats")], [], "a resource name is no kind");
  });

  it("replaces the names of a definition that is set again", () => {
    const made = claims();
    made.set("dogs.a", { plural: "dogs", kind: "Hound" });
    assert.deepEqual([...made.ofResource("cat")], ["cats.a"]);
    assert.deepEqual([...made.ofKind("Dog")], []);
    assert.deepEqual([...made.ofKind("Hound")], ["dogs.a"]);
  });

  it("removes deleted definitions, and is empty without any", () => {
    const made = claims();
    for (const name of ["cats.a", "dogs.a", "never.a"]) made.delete(name);
    assert.equal(made.isEmpty, true);
    assert.deepEqual([...made.ofResource("cat"), ...made.ofKind("Cat")], []);
  });
});
