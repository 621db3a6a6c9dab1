import type { Service } from "#kinds";

type Variables = Map<string, string>;

/** Environment variables of a Service (service links), in the format of Docker links. */
export function serviceVariables({ metadata, spec }: Service): Variables {
  const variables: Variables = new Map();
  const { clusterIP = "", ports = [] } = spec ?? {};
  const [firstPort] = ports;
  if (clusterIP === "" || clusterIP === "None" || firstPort === undefined) return variables;
  const prefix = variableName(metadata.name);
  const address = clusterIP.includes(":") ? `[${clusterIP}]` : clusterIP;
  variables.set(`${prefix}_SERVICE_HOST`, clusterIP);
  variables.set(`${prefix}_SERVICE_PORT`, String(firstPort.port));
  for (const { name = "", port } of ports) {
    if (name !== "") variables.set(`${prefix}_SERVICE_PORT_${variableName(name)}`, String(port));
  }
  for (const { port, protocol = "TCP" } of ports) {
    const url = `${protocol.toLowerCase()}://${address}:${port}`;
    if (port === firstPort.port && !variables.has(`${prefix}_PORT`)) {
      variables.set(`${prefix}_PORT`, url);
    }
    const one = `${prefix}_PORT_${port}_${protocol}`;
    variables.set(one, url);
    variables.set(`${one}_PROTO`, protocol.toLowerCase());
    variables.set(`${one}_PORT`, String(port));
    variables.set(`${one}_ADDR`, clusterIP);
  }
  return variables;
}

function variableName(text: string): string {
  return text.replaceAll("-", "_").toUpperCase();
}
