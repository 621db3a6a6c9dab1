/** Protobuf straight from and to JSON-shaped objects, byte for byte as Go's generated code. */
export { toProtobuf } from "./protobuf-write.ts";
export { fromProtobuf } from "./protobuf-read.ts";
