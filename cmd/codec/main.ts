import { readFile } from "node:fs/promises";
import { domainOf } from "#meta";
import { flag, parseFlags, UsageError } from "../flags/parse.ts";
import { convert, type Format, formats } from "#controlplane";

const codecFlags = {
  from: flag("string", "", "format of the input (default: detected)", { values: formats }),
  to: flag("string", "json", "format of the output; stored = value as in the store", {
    values: formats,
  }),
  "storage-media-type": flag(
    "string",
    "application/json",
    "media type of the output of --to=stored",
    {
      values: ["application/json", "application/vnd.kubernetes.protobuf"],
    },
  ),
  "api-domain": flag("string", "k8s.io", "suffix of API group names"),
} as const;

/** `keelson codec [files]`: converts each file, or standard input, to standard output. */
async function runCodec(words: readonly string[]): Promise<void> {
  const files: string[] = [];
  const values = parseFlags(codecFlags, words, files);
  const inputs = files.length > 0 ? files.map(readInput) : [readStandardInput()];
  for (const input of inputs) {
    const output = convert(await input, {
      ...(values.from === "" ? {} : { from: values.from as Format }),
      to: values.to as Format,
      storageMediaType: values["storage-media-type"] === "application/json" ? "json" : "protobuf",
      domain: domainOf(values["api-domain"]),
    });
    await new Promise<void>((resolve, reject) => {
      process.stdout.write(output, (error) => (error ? reject(error) : resolve()));
    });
  }
}

async function readInput(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new UsageError(`${file} cannot be read (${reason})`);
  }
}

async function readStandardInput(): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

export const codecCommand = {
  groups: [{ heading: "Codec", flags: codecFlags }],
  run: runCodec,
} as const;
