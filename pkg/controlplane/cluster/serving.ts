import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { setTimeout } from "node:timers/promises";
import { trustServers } from "#base";
import { TlsAgent } from "#pki";

/** Paths of PEM files. */
export interface ClientFiles {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
}

const pauseMs = 100;
const answerMs = 2_000;

/**
 * Resolves once the URL responds with 200.
 * @throws the signal's reason if the signal aborts before
 */
export async function waitUntilServing(
  url: string,
  files: ClientFiles | undefined,
  signal: AbortSignal,
): Promise<void> {
  while (!(await isServed(url, files))) {
    signal.throwIfAborted();
    await setTimeout(pauseMs);
    signal.throwIfAborted();
  }
}

async function isServed(url: string, files: ClientFiles | undefined): Promise<boolean> {
  const tls = files && {
    ...trustServers(await readFile(files.ca, "utf8")),
    ...(files.cert && files.key
      ? { cert: await readFile(files.cert), key: await readFile(files.key) }
      : {}),
  };
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(answerMs);
    const agent = url.startsWith("https:") ? new TlsAgent(tls) : false;
    request(url, { agent, signal }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    })
      .on("error", () => resolve(false))
      .end();
  });
}
