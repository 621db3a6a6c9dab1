/** A test of the controller with Mocha: one server, which is reset after each test. */
// In your own project: import { type TestServer, testServer } from "keelson/testing";
import { type TestServer, testServer } from "../../cmd/keelson/testing-kit.ts";
import { runSummaryController } from "../controller.ts";

describe("the summary controller", () => {
  let server: TestServer;
  before(async () => {
    server = await testServer();
  });
  afterEach(() => server.reset());
  after(() => server.close());

  for (const name of ["one", "another"]) {
    it(`counts a ConfigMap with the name ${name}`, async () => {
      const stop = new AbortController();
      await server.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
      const running = runSummaryController(server.fetch, "default", stop.signal);
      const summary = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "summary" } };
      await server.waitFor(summary, "jsonpath={.data.count}=1");
      stop.abort();
      await running;
      server.requests.expectAtMost(3, { verb: "write" });
    });
  }
});
