/** For every run of the tests: what a test has left running must not hold whoever waits for it. */
const patienceMs = 30_000;

export const mochaHooks = {
  afterAll(): void {
    setTimeout(() => {
      const left = process.getActiveResourcesInfo().join(", ");
      console.error(`the tests have ended, but something goes on: ${left}`);
      // The runner sets the code by the tests that failed, and is asked before this.
      process.once("exit", () => (process.exitCode = 1));
      process.exit();
    }, patienceMs).unref();
  },
};
