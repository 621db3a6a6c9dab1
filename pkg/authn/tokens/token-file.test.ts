import assert from "node:assert/strict";
import { TokenFileAuthenticator } from "./token-file.ts";

describe("TokenFileAuthenticator", () => {
  it("reads quoted fields, and skips blank lines", () => {
    const tokens = new TokenFileAuthenticator('\na, alice ,1,"devs, ops"\r\n\nb,"b ""ob""",2\n');
    const alice = tokens.authenticateToken("a")?.user;
    assert.deepEqual([alice?.name, alice?.uid], ["alice", "1"]);
    assert.deepEqual(alice?.groups, ["devs", "ops", "system:authenticated"]);
    assert.equal(tokens.authenticateToken("b")?.user.name, 'b "ob"');
    assert.equal(tokens.authenticateToken("c"), undefined);
  });

  it("names the line of the file that is malformed", () => {
    const file = "\na,alice,1\n\nb,bob\n";
    assert.throws(() => new TokenFileAuthenticator(file), /^Error: line 4 of the token file/);
  });
});
