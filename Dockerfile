# The studio in a container:
#   docker build -t epigram .
#   docker run --rm -p 8765:8765 epigram                 # prints the address with a token
#   docker run --rm -p 8765:8765 -v "$PWD:/models" epigram --token secret /models/mine.epigram
FROM python:3.13.14-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.13.14-slim-bookworm
COPY requirements-serve.lock /
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --require-hashes -r /requirements-serve.lock \
    && pip install --no-cache-dir --no-deps /wheels/*.whl && rm -rf /wheels && useradd --create-home studio
USER studio
# The sample models are trained while the image is made, so that the container starts at once and offline.
RUN python -c "from epigram.serve.sample_models import sample_files; sample_files()"
EXPOSE 8765
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/healthz')"]
ENTRYPOINT ["epigram", "serve", "--host", "0.0.0.0"]
CMD ["--token", "new"]
