/** Every group version and every resource may be turned off, or the start says why not. */
import assert from "node:assert/strict";
import { builtinKinds } from "#api";
import { generateSigningKey } from "#authn";
import { Catalog, domainOf } from "#meta";
import { startServer } from "../index.ts";
import { RuntimeConfigError } from "./served-catalog.ts";

const catalog = new Catalog(builtinKinds, domainOf(), () => true);
const keys = new Set([
  "api/all",
  "api/ga",
  "api/beta",
  "api/alpha",
  "api/v1",
  "v1/namespaces,v1/pods",
  ...catalog.resources.map(({ groupVersion }) => groupVersion),
  ...catalog.resources.map(({ groupVersion, plural }) => `${groupVersion}/${plural}`),
]);

describe("--runtime-config", () => {
  let signingKey: string;
  before(async () => {
    signingKey = await generateSigningKey("ES256");
  });

  for (const key of keys) {
    it(`${key}=false starts, or is refused in one sentence`, async () => {
      const reports: unknown[] = [];
      const runtimeConfig = new Map(key.split(",").map((each) => [each, "false"]));
      const options = { runtimeConfig, serviceAccounts: { signingKey } };
      const report = (what: string, error: unknown) => reports.push([what, String(error)]);
      try {
        const server = await startServer({ ...options, report });
        await server.close();
      } catch (error) {
        assert.ok(error instanceof RuntimeConfigError, String((error as Error).stack));
      }
      assert.deepEqual(reports, []);
    });
  }
});
