FROM debian:bookworm-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends etcd-server \
  && rm -rf /var/lib/apt/lists/* \
  && mkdir /data && chown 65532:65532 /data && chmod 700 /data
# Debian's etcd starts on 64-bit ARM only with this variable; on other platforms it logs a warning.
ENV ETCD_UNSUPPORTED_ARCH=arm64
USER 65532:65532
ENTRYPOINT ["etcd"]
