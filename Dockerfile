# The image that `docker.yml` publishes: Debian's Chromium, and Troupe over HTTP as a user who is
# not root. `deploy/docker/seccomp.json` lets Chromium use its sandbox; docs/docker.md has the
# commands.
FROM node:22-bookworm-slim

RUN apt-get update \
  && apt-get install -y --no-install-recommends chromium-headless-shell fonts-liberation tini \
  && rm -rf /var/lib/apt/lists/*

# A version in the npm registry.
ARG VERSION=latest
RUN npm install --global troupe@${VERSION} && npm cache clean --force

USER node
WORKDIR /home/node
VOLUME /home/node/.local/state/troupe
EXPOSE 4000
ENTRYPOINT ["tini", "--", "troupe", "--transport", "http", "--host", "0.0.0.0", "--headless"]
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4000/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
