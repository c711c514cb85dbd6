# The MCP server over stdio, for Docker's MCP catalog: docker run -i --rm -v FOLDER:/data wellkept
FROM python:3.13-slim AS build
WORKDIR /build
COPY constraints.txt ./
COPY packages/wellkept ./wellkept
RUN python -m venv /opt/wellkept \
    && /opt/wellkept/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt ./wellkept

FROM python:3.13-slim
COPY --from=build /opt/wellkept /opt/wellkept
# A memory belongs to one person: no root, one folder.
RUN useradd --create-home --uid 1000 keeper && install -d -o keeper -g keeper /data
USER 1000
ENV WELLKEPT_HOME=/data PATH=/opt/wellkept/bin:$PATH
VOLUME /data
ENTRYPOINT ["wellkept"]
CMD ["mcp"]
