/** authz: who may do what. */
export { alwaysAllow, alwaysDeny, firstOpinion, masters, publicReads } from "./modes.ts";
