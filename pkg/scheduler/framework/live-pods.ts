/** Selects pods that are not terminal. */
export const livePods = { fieldSelector: "status.phase!=Succeeded,status.phase!=Failed" } as const;
