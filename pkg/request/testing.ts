import { Dialer } from "./services/dialer.ts";

/** Dials every address. */
export const ordinaryDialer = new Dialer({ route: async () => ({ kind: "ordinary" }) });
