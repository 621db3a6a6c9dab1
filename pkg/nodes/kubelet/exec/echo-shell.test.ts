import assert from "node:assert/strict";
import { VirtualClock } from "#base";
import type { Pod } from "#kinds";
import { ContainerFiles, FileSystems } from "../../shell/container-files.ts";
import { EchoShell } from "./echo-shell.ts";

function shell(
  files: ContainerFiles,
  command: readonly string[],
  annotations: Readonly<Record<string, string>> = {},
): EchoShell {
  const metadata = { name: "p", namespace: "ns", uid: "u", resourceVersion: "1", annotations };
  return new EchoShell({
    pod: { metadata } as unknown as Pod,
    container: "app",
    files,
    environment: new Map([["GREETING", "hi"]]),
    clock: new VirtualClock(),
    command,
  });
}

describe("the echo shell", () => {
  let files: ContainerFiles;
  beforeEach(() => {
    files = new FileSystems(() => 0).of("c", { "/etc/hostname": "p\n" }, () => true);
  });
  const run = (...command: string[]) => {
    const { stdout, stderr, exitCode } = shell(files, command).start(false);
    return `${Buffer.from(stdout).toString()}${stderr}(${exitCode})`;
  };

  it("runs scripts with its files", () => {
    assert.equal(run("sh", "-c", "echo 'a b' > /root/x && cat /root/x; ls /root"), "a b\nx\n(0)");
    assert.equal(run("sh", "-c", "false && echo no; exit 4"), "(4)");
    assert.equal(run("test", "-d", "/root"), "(0)");
    assert.equal(run("test", "-f", "/root"), "(1)");
    assert.equal(run("cat", "/none"), "cat: /none: No such file or directory\n(1)");
  });

  it("fails for what it does not know, never succeeds", () => {
    const runtime =
      "OCI runtime exec failed: exec failed: unable to start container process: exec:";
    const absent = (program: string) =>
      `${runtime} "${program}": executable file not found in $PATH: unknown\n(127)`;
    for (const program of ["nc", "curl", "nslookup", "cd", "exit", ":"]) {
      assert.equal(run(program, "-z", "10.0.0.1"), absent(program));
    }
    const stat = "stat /bin/nc: no such file or directory: unknown";
    assert.equal(run("/bin/nc"), `${runtime} "/bin/nc": ${stat}\n(127)`);
    assert.equal(run("sh", "-c", "nc -z a 1"), "sh: 1: nc: not found\n(127)");
    assert.equal(run("sh", "-c", "exec curl a"), "sh: 1: curl: not found\n(127)");
    assert.equal(run("sh", "-c", "nc a 1 && echo yes"), "sh: 1: nc: not found\n(127)");
    assert.equal(run("sh", "-c", "nc a 1 2>/dev/null || echo no"), "no\n(0)");
    for (const script of ["echo a; test -Q x", "wc -X", "case x in esac", "a() { :; }", "seq a"]) {
      assert.doesNotMatch(run("sh", "-c", script), /\(0\)$/, script);
    }
    assert.doesNotMatch(run("env", "nc"), /\(0\)$/);
  });

  it("parses long hostile scripts quickly", () => {
    for (const part of ["'", "\"'", ">", "& ", "| tail -c+1"]) {
      assert.match(run("sh", "-c", part.repeat(100_000)), /\(\d+\)$/);
    }
  });

  it("responds by annotations, first by the list", () => {
    const answers = [{ command: "pg_isready", stdout: "no\n", exitCode: 2 }];
    const annotations = {
      "simulated.keelson.dev/exec": JSON.stringify(answers),
      "simulated.keelson.dev/exec-output": "any\n",
    };
    const ask = (...command: string[]) => shell(files, command, annotations).start(false);
    assert.deepEqual(ask("pg_isready", "-q"), { stdout: "no\n", stderr: "", exitCode: 2 });
    assert.equal(ask("pg_isreadyish").stdout, "any\n");
    const broken = { "simulated.keelson.dev/exec": "[{" };
    assert.equal(shell(files, ["false"], broken).start(false).exitCode, 1);
  });

  it("limits the size of files", () => {
    assert.throws(() => files.writeFile("/a", Buffer.alloc(9 << 20)), /No space left on device/);
    for (let at = 0; at < 4_000; at++) files.writeFile(`/many/${at}`, Buffer.alloc(0));
    assert.throws(() => {
      for (let at = 0; at < 200; at++) files.writeFile(`/more/${at}`, Buffer.alloc(0));
    }, /No space left on device/);
  });

  it("shares one limit among containers, and frees files of terminated ones", () => {
    const systems = new FileSystems(() => 0);
    const fill = (name: string) => {
      systems.of(name, {}, (each) => each !== "c0").writeFile("/data", Buffer.alloc(7 << 20));
    };
    for (let at = 0; at < 9; at++) fill(`c${at}`);
    fill("c9");
    assert.throws(() => fill("c10"), /No space left on device/);
  });

  it("rejects invalid archives", () => {
    const tar = shell(files, ["tar", "xf", "-"]);
    tar.start(true);
    const { stderr, exitCode } = tar.input(Buffer.alloc(512, "x"));
    assert.deepEqual([stderr, exitCode], ["tar: this does not look like a tar archive\n", 2]);
    const cut = shell(files, ["tar", "xf", "-"]);
    cut.start(true);
    assert.equal(cut.inputEnd().exitCode, 1);
  });
});
