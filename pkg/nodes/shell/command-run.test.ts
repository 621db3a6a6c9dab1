import assert from "node:assert/strict";
import { followCommand, type MainCommand } from "./command-run.ts";

function follow(command: readonly string[], more: Partial<MainCommand> = {}) {
  return followCommand({
    command,
    environment: new Map([["INDEX", "3"]]),
    host: "p",
    files: { "/etc/config/colour": "blue\n" },
    folders: ["/scratch"],
    unknownFolders: ["/data"],
    startedAt: 0,
    seed: "s",
    ...more,
  });
}

/** Result as `CODE after SECONDS s`, with the output. */
function told(...command: readonly string[]): string | undefined {
  const outcome = follow(command);
  if (outcome === undefined) return undefined;
  const { exit, output } = outcome;
  const text = output.map(({ data }) => Buffer.from(data).toString()).join("");
  return `${exit.code} after ${exit.afterMs / 1000} s${text === "" ? "" : `: ${text.trimEnd()}`}`;
}

const script = (text: string) => told("/bin/sh", "-c", text);

describe("the simulation of commands", () => {
  it("simulates sleep, true and false", () => {
    assert.equal(told("sleep", "300"), "0 after 300 s");
    assert.equal(told("/bin/sleep", "1m", "0.5"), "0 after 60.5 s");
    assert.equal(told("sleep", "infinity"), "0 after Infinity s");
    assert.equal(told("sleep", "soon"), "1 after 0 s: sleep: invalid time interval 'soon'");
    assert.equal(told("/bin/false"), "1 after 0 s");
  });

  it("simulates scripts", () => {
    assert.equal(script("sleep 2; exit 3"), "3 after 2 s");
    assert.equal(script("false; exit"), "1 after 0 s");
    assert.equal(script("echo hello && sleep 1\ntrue"), "0 after 1 s: hello");
    assert.equal(script("false && sleep 9 || exit 4"), "4 after 0 s");
    assert.equal(script("if [ $(expr ${INDEX} % 2) -ne 0 ]; then exit 1; fi"), "1 after 0 s");
    assert.equal(script("for i in 1 2 3; do echo $i; sleep $i; done"), "0 after 6 s: 1\n2\n3");
    assert.equal(script("n=0; until [ $n -ge 3 ]; do n=$((n + 1)); done; exit $n"), "3 after 0 s");
    assert.equal(script("set -e; false; exit 7"), "1 after 0 s");
    assert.equal(script("cat /etc/config/colour | wc -c"), "0 after 0 s: 5");
    assert.equal(
      script("echo `hostname`-${NONE:-x} '$INDEX' \"$INDEX\""),
      "0 after 0 s: p-x $INDEX 3",
    );
  });

  it("keeps files in directories that are known to be empty", () => {
    assert.equal(script("ls /scratch; mkdir /scratch/b; ls /scratch"), "0 after 0 s: b");
    assert.equal(script("[ -r /scratch/a ] || touch /scratch/a; [ -r /scratch/a ]"), "0 after 0 s");
  });

  it("returns undefined for unsupported programs, files and syntax", () => {
    assert.equal(script("run-the-job"), undefined);
    assert.equal(script("cd /srv && exit 3"), undefined);
    assert.equal(script("sleep 1 & wait"), undefined);
    assert.equal(script("case x in x) exit 3;; esac"), undefined);
    assert.equal(script("if [ -r /data/done ]; then exit 1; fi"), undefined);
    assert.equal(told("sh", "-c", "x".repeat(9_000)), undefined);
    assert.equal(told("nginx"), undefined);
  });

  it("continues scripts that sleep repeatedly, with reproducible random choices", () => {
    assert.equal(script("while true; do sleep 1; done"), "0 after Infinity s");
    assert.equal(script("while :; do :; done"), undefined);
    assert.equal(script("a=x; while true; do a=$a$a$a; done"), undefined);
    const codes = ["a", "b", "c", "d", "e", "f"].map((seed) => {
      const run = () => follow(["sh", "-c", "exit $(( $RANDOM / 16384 ))"], { seed })?.exit.code;
      assert.equal(run(), run());
      return run();
    });
    assert.deepEqual([...new Set(codes)].sort(), [0, 1]);
  });

  it("returns the output up to a time", () => {
    const environment = new Map();
    const main = { environment, host: "p", files: {}, folders: [], unknownFolders: [], seed: "" };
    const command = ["sh", "-c", "while true; do date +%s; sleep 10; done"];
    const outcome = followCommand({ ...main, command, startedAt: 5_000 }, 25_000);
    const lines = outcome?.output.map(({ afterMs, data }) => `${afterMs} ${Buffer.from(data)}`);
    assert.deepEqual(lines, ["0 5\n", "10000 15\n", "20000 25\n"]);
  });

  it("parses hostile scripts quickly", () => {
    const parts = ["$(", "`", "${a:-", "((", "{ ", "'", '"', "if ", "| ", "$((", "a=1 ", "> "];
    for (const part of parts) {
      const text = part.repeat(4_000).slice(0, 8_000);
      assert.doesNotThrow(() => script(text), part);
      assert.doesNotThrow(() => script(`${text} x`), part);
    }
  });
});
