# The operator: the manager of a cluster, and the command line.
#
#   docker build --tag spillway-operator:0.1.0 .
#
# Any image with Python 3.11 to 3.13 and pip will do as a base: --build-arg BASE_IMAGE=...
ARG BASE_IMAGE=python:3.11-slim-bookworm

FROM ${BASE_IMAGE} AS lock
WORKDIR /source
# As the Makefile has it. It only reads the lock: pip installs, as the machine is set up for.
RUN python3 -m venv /uv && /uv/bin/pip install --no-cache-dir --disable-pip-version-check uv==0.13.8
COPY pyproject.toml uv.lock ./
RUN /uv/bin/uv export --quiet --frozen --extra operator --no-default-groups --no-emit-project --output-file /requirements.txt

FROM ${BASE_IMAGE} AS build
COPY --from=lock /uv /uv
# Only what is to be installed decides whether it is installed again, not each edit of pyproject.toml.
COPY --from=lock /requirements.txt /
RUN python3 -m venv --without-pip /opt/spillway \
 && /uv/bin/pip --python /opt/spillway/bin/python install --no-cache-dir --disable-pip-version-check --require-hashes \
      --requirement /requirements.txt
# Apart from these, so that a change of ours is a layer of one megabyte.
WORKDIR /source
COPY pyproject.toml README.md ./
COPY operator operator
COPY controllers controllers
COPY runtime-image runtime-image
COPY bench bench
RUN /uv/bin/pip --python /opt/spillway/bin/python install --no-cache-dir --disable-pip-version-check --no-deps \
      --no-warn-script-location --prefix /ours/opt/spillway .

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="spillway-operator" \
      org.opencontainers.image.description="Turns StreamJobs into pods, and keeps them the right size" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --gid 10001 spillway \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin spillway
COPY --from=build /opt/spillway /opt/spillway
COPY --from=build /ours/opt/spillway /opt/spillway
# Nothing can be written but /tmp.
ENV PATH=/opt/spillway/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
WORKDIR /tmp
USER 10001:10001
ENTRYPOINT ["spillway-manager"]
