/** Anonymous access, as authentication and authorization flags configure it. */
import assert from "node:assert/strict";
import { request } from "node:https";
import { generateSigningKey } from "#authn";
import { createLogger } from "#base";
import { startServer, type StartOptions } from "../index.ts";

const configuration = (enabled: boolean) =>
  JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthenticationConfiguration",
    anonymous: { enabled },
  });

/** [what, options, status of /healthz, status of Secrets] */
const cases: readonly (readonly [string, StartOptions, number, number])[] = [
  ["RBAC", { authorization: ["RBAC"] }, 200, 403],
  ["the default", {}, 200, 403],
  ["RBAC and --anonymous-auth=false", { authorization: ["RBAC"], anonymous: false }, 401, 401],
  ["AlwaysAllow", { authorization: ["AlwaysAllow"] }, 401, 401],
  ["AlwaysAllow last", { authorization: ["RBAC", "AlwaysAllow"] }, 401, 401],
  ["AlwaysAllow first", { authorization: ["AlwaysAllow", "RBAC"] }, 401, 401],
  [
    "AlwaysAllow and --anonymous-auth=true",
    { authorization: ["AlwaysAllow"], anonymous: true },
    401,
    401,
  ],
  [
    "AlwaysAllow and a configuration that allows it",
    { authorization: ["AlwaysAllow"], authentication: configuration(true) },
    200,
    200,
  ],
  [
    "AlwaysAllow and a configuration that forbids it",
    { authorization: ["AlwaysAllow"], authentication: configuration(false) },
    401,
    401,
  ],
  ["AlwaysDeny", { authorization: ["AlwaysDeny"] }, 403, 403],
];

describe("requests without credentials", () => {
  for (const [what, options, health, secrets] of cases) {
    it(`with ${what}: /healthz ${health}, Secrets ${secrets}`, async () => {
      const lines: string[] = [];
      const logger = createLogger({ write: (line) => lines.push(line) });
      const serviceAccounts = { signingKey: await generateSigningKey("ES256") };
      const common = { port: 0, controllers: false, serviceAccounts, logger };
      const server = await startServer({ ...common, ...options });
      try {
        assert.equal(await statusOf(`${server.url}/healthz`), health);
        assert.equal(await statusOf(`${server.url}/api/v1/secrets`), secrets);
        const warned = lines.filter((line) =>
          line.includes("Anonymous authentication is disabled"),
        );
        const isWarned = options.authorization?.includes("AlwaysAllow") ?? false;
        assert.equal(warned.length, isWarned ? 1 : 0);
      } finally {
        await server.close();
      }
    });
  }
});

function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { rejectUnauthorized: false, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });
}
