import assert from "node:assert/strict";
import { StatusError } from "#meta";
import type { Credentials } from "#request";
import { TokenFile } from "./token-file.ts";
import { Tokens } from "./token.ts";
import { Union } from "./union.ts";

function sent(...authorization: string[]): Credentials {
  return { authorization, certificate: undefined, header: () => undefined };
}

describe("the union of authenticators", () => {
  const tokenFile = new TokenFile('secret,alice,u1,"devs,ops"');
  const authenticators = [new Tokens([tokenFile], ["api"])];
  const union = new Union({ authenticators, anonymous: true });

  for (const [header, name] of [
    ["Bearer secret", "alice"],
    ["bEaReR secret", "alice"],
    ["  Bearer secret  ", "alice"],
    ["Bearer secret more", "alice"],
    ["Bearer", "system:anonymous"],
    ["Bearer ", "system:anonymous"],
    ["Bearer  secret", "system:anonymous"],
    ["Basic c2VjcmV0", "system:anonymous"],
    ["secret", "system:anonymous"],
    ["", "system:anonymous"],
  ] as const) {
    it(`takes ${JSON.stringify(header)} for ${name}`, async () => {
      assert.equal((await union.authenticate(sent(header))).name, name);
    });
  }

  it("gives the groups of the file and one for all who are known", async () => {
    const { groups } = await union.authenticate(sent("Bearer secret"));
    assert.deepEqual(groups, ["devs", "ops", "system:authenticated"]);
  });

  it("refuses a token that nobody knows, and two headers", async () => {
    const is401 = (error: unknown) => error instanceof StatusError && error.code === 401;
    await assert.rejects(union.authenticate(sent("Bearer wrong")), is401);
    await assert.rejects(union.authenticate(sent("Bearer secret", "Bearer secret")), is401);
  });

  it("refuses everybody without a credential where nobody may be anonymous", async () => {
    const strict = new Union({ authenticators, anonymous: false });
    await assert.rejects(strict.authenticate(sent()));
  });
});
