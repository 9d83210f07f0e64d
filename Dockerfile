# rungs: what each rung of the Rust I/O ladder costs.
#
#   docker build -t rungs .
#   mkdir -p results
#   docker run --rm -v "$PWD/results:/results" rungs
#
FROM rust:1-bookworm AS build
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY servers servers
COPY primitives primitives
COPY bench-scripts bench-scripts
# With libzmq, which is linked into `rungs`.
RUN cargo build --release --locked --workspace --bins

FROM debian:bookworm-slim
# wrk makes the load, strace traces the servers, the fonts draw the PNGs. perf would bring Perl and Python along.
RUN apt-get update \
 && apt-get install -y --no-install-recommends wrk strace fonts-dejavu-core \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 1000 --no-create-home rungs \
 && install -d -o rungs -g rungs /results
COPY --from=build \
     /src/target/release/rungs \
     /src/target/release/rung-null \
     /src/target/release/rung-epoll \
     /src/target/release/rung-mio \
     /src/target/release/rung-uring \
     /src/target/release/rung-hyper \
     /src/target/release/rung-axum \
     /usr/local/bin/
# `rungs` writes to ./results unless it is told otherwise: from / that is the volume.
WORKDIR /
VOLUME /results
USER rungs
ENTRYPOINT ["rungs"]
CMD ["sweep", "--matrix", "quick"]
