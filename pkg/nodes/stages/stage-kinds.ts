/** Fields of the objects that Stages select. */
import type { ApiObject } from "#client";
import type { Node, Pod } from "#kinds";

export type StagedKind = "Pod" | "Node";
export type StagedObject = (Pod | Node) & ApiObject;
