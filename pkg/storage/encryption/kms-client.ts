import type { Client } from "@grpc/grpc-js";
import { fromProtobuf, type Infer, type StructType, toProtobuf } from "#schema";
import {
  decryptRequest,
  decryptResponse,
  encryptRequest,
  encryptResponse,
  statusRequest,
  statusResponse,
} from "./kms-messages.ts";
import { TransformFault } from "./transformer.ts";

/** The calls of a KMS v2 plugin; each throws TransformFault on failure. */
export interface KeyService {
  status(): Promise<Infer<typeof statusResponse>>;
  encrypt(request: Infer<typeof encryptRequest>): Promise<Infer<typeof encryptResponse>>;
  decrypt(request: Infer<typeof decryptRequest>): Promise<Infer<typeof decryptResponse>>;
  close(): void;
}

interface KeyServiceOptions {
  /** `unix:///path/of/socket`. */
  readonly endpoint: string;
  /** Timeout of a call. */
  readonly timeoutMs: number;
}

interface Method<Q extends StructType<any>, A extends StructType<any>> {
  readonly name: "Status" | "Encrypt" | "Decrypt";
  readonly request: Q;
  readonly response: A;
}

/** A gRPC client of a KMS plugin on a Unix socket; connects on the first call and reconnects. */
export function keyService({ endpoint, timeoutMs }: KeyServiceOptions): KeyService {
  let client: Promise<Client> | undefined;
  let closed = false;

  async function call<Q extends StructType<any>, A extends StructType<any>>(
    { name, request, response }: Method<Q, A>,
    message: Infer<Q>,
  ): Promise<Infer<A>> {
    if (closed) throw new TransformFault("the key service is closed");
    client ??= connect(endpoint);
    const connected = await client;
    return new Promise((resolve, reject) => {
      connected.makeUnaryRequest(
        `/v2.KeyManagementService/${name}`,
        (value: Infer<Q>) => Buffer.from(toProtobuf(request, value)),
        (bytes: Buffer) => fromProtobuf(response, bytes),
        message,
        { deadline: Date.now() + timeoutMs },
        (error, reply) => {
          if (reply !== undefined) resolve(reply);
          else reject(new TransformFault(error?.message ?? `empty response to ${name}`));
        },
      );
    });
  }

  return {
    status: () => call({ name: "Status", request: statusRequest, response: statusResponse }, {}),
    encrypt: (request) =>
      call({ name: "Encrypt", request: encryptRequest, response: encryptResponse }, request),
    decrypt: (request) =>
      call({ name: "Decrypt", request: decryptRequest, response: decryptResponse }, request),
    close() {
      closed = true;
      void client?.then((connected) => connected.close());
    },
  };
}

/** The gRPC library is imported on first use, since most servers have no KMS. */
async function connect(endpoint: string): Promise<Client> {
  const { Client: GrpcClient, credentials } = await import("@grpc/grpc-js");
  return new GrpcClient(endpoint, credentials.createInsecure());
}
