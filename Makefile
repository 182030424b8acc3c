# Two commands on a fresh machine: make demo, make test. Everything else is for those who work on Sash.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Other engines pin other versions of the same packages, and have no wheels for the newest Pythons.
PEERS  ?= .venv-peers
PEER_PYTHON ?= python3.11
# Another Spark has an environment of its own. The oldest is tested with the oldest of everything else.
OLDEST_SPARK := 4.1.4
SPARK  ?= $(OLDEST_SPARK)
OTHER  := .venv-spark-$(SPARK)
PINS   := $(if $(filter $(OLDEST_SPARK),$(SPARK)),--constraint tools/oldest.txt)
SPARK_TESTS ?= tests/conformance tests/runtimes tests/joins/test_join_spark.py tests/pipeline

KAFKA  := build/kafka
MAVEN  := mvn --quiet --batch-mode -gs tools/kafka/settings.xml -f tools/kafka/pom.xml \
	dependency:copy-dependencies -DincludeScope=runtime
# No Delta or Iceberg is there for the newest Spark yet; both are for this one.
LAKES  := build/lakes
LAKE_JARS := delta-spark_4.1_2.13,delta-storage,delta-kernel-api,delta-kernel-defaults,iceberg-spark-runtime-4.1_2.13
# The rest of what it needs is in Spark.
CONNECTOR := spark-sql-kafka-0-10_2.13,spark-token-provider-kafka-0-10_2.13,kafka-clients,commons-pool2

PAPERS ?= amta_paper pisa_papers stretch scalegate user_functions
# Experiment 5 is as long as in the paper, so that its table is always that one.
OPTIONS_stretch := --long

.DEFAULT_GOAL := help
.PHONY: help demo test test-spark test-spark-quick check audit format soak golden bench figures month java redis kafka lakes test-lakes clean peers secret chromium pictures dist dist-check docs

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml src/sash/_version.py
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Sash needs Python 3.11 or later; set PYTHON=… to one")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

java:
	@tools/ensure java openjdk-17-jre-headless

redis:
	@tools/ensure redis-server redis-server

chromium:
	@tools/ensure chromium chromium

kafka: $(KAFKA)/.ready  ## fetch a Kafka broker and Spark's connector from Maven Central, in build/kafka

# A jar of the connector for each Spark would be better; see tools/kafka/pom.xml.
$(KAFKA)/.ready: tools/kafka/pom.xml tools/kafka/settings.xml
	@tools/ensure mvn maven
	$(MAVEN) -P broker -DoutputDirectory=$(CURDIR)/$(KAFKA)/broker
	$(MAVEN) -P connector -DoutputDirectory=$(CURDIR)/$(KAFKA)/connector -DincludeArtifactIds=$(CONNECTOR)
	@touch $@

lakes: $(LAKES)/.ready  ## fetch Delta and Iceberg from Maven Central, in build/lakes

$(LAKES)/.ready: tools/lakes/pom.xml tools/kafka/settings.xml
	@tools/ensure mvn maven
	$(subst kafka/pom,lakes/pom,$(MAVEN)) -DoutputDirectory=$(CURDIR)/$(LAKES) -DincludeArtifactIds=$(LAKE_JARS)
	@touch $@

test-lakes: $(OTHER)/.ready java lakes  ## run the tests of Delta and Iceberg, with a Spark that they are for
	$(OTHER)/bin/python -m pytest -m "" tests/lakes

demo: $(READY) java  ## stream a made-up market through windows on Spark, half a minute
	$(BIN)/sash demo

test: $(READY) java redis chromium kafka  ## run all tests but the long soak tests
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

$(OTHER)/.ready: pyproject.toml tools/oldest.txt
	@test -x $(OTHER)/bin/python || $(PYTHON) -m venv $(OTHER)
	$(OTHER)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]' \
		'pyspark[connect]==$(SPARK)' $(PINS)
	@touch $@

test-spark: $(OTHER)/.ready java redis  ## run the tests that need Spark with another one: make test-spark SPARK=4.2.1
	$(OTHER)/bin/python -m pytest $(SPARK_TESTS)

test-spark-quick: $(OTHER)/.ready java  ## the same with a few of them and the oldest Spark, for CI
	$(OTHER)/bin/python -m pytest -m quick tests/conformance tests/runtimes

soak: $(READY) java redis kafka peers  ## run the long tests
	SASH_PEERS=$(PEERS) $(BIN)/python -m pytest -m soak
	$(MAKE) test-lakes SPARK=$(OLDEST_SPARK)

golden: $(READY) java redis  ## write descriptions and, once for a release, golden state: make golden RELEASE=0.1.0
	unshare --user --map-root-user --uts sh -c 'hostname golden && SPARK_LOCAL_IP=127.0.0.1 PYTHONPATH=$(CURDIR) exec $(BIN)/python -m tools.golden $(or $(RELEASE),descriptions)'

check: $(READY)  ## ruff, mypy (strict) and import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

audit: $(READY)  ## look for known weaknesses of dependencies, where the server of advisories can be reached
	$(BIN)/python -m tools.audit

format: $(READY)  ## let ruff fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

peers: $(PEERS)/flink/.ready $(PEERS)/beam/.ready $(PEERS)/flink/jars/.ready  ## install the engines that `make secret` probes and `make bench` meets

$(PEERS)/flink/.ready: Makefile
	$(PEER_PYTHON) -m venv $(PEERS)/flink
	$(PEERS)/flink/bin/python -m pip install --quiet --disable-pip-version-check apache-flink==2.3.0
	@touch $@

# The format of the files that it is given by benchmarks/flink_sql.py, which PyFlink does not bring.
$(PEERS)/flink/jars/.ready: Makefile tools/kafka/settings.xml | $(PEERS)/flink/.ready
	@tools/ensure mvn maven
	mvn --quiet --batch-mode -gs tools/kafka/settings.xml dependency:copy \
		-Dartifact=org.apache.flink:flink-sql-parquet:2.3.0 -DoutputDirectory=$(abspath $(PEERS))/flink/jars
	@touch $@

$(PEERS)/beam/.ready: Makefile
	$(PEER_PYTHON) -m venv $(PEERS)/beam
	$(PEERS)/beam/bin/python -m pip install --quiet --disable-pip-version-check apache-beam==2.77.0 bytewax==0.21.1
	@touch $@

secret: $(READY) java peers  ## probe the live engines, and write docs/secret
	SASH_PEERS=$(PEERS) $(BIN)/python tools/probe_engines.py docs/secret/results.json
	$(BIN)/sash secret table --format markdown --results docs/secret/results.json > docs/secret/table.md
	$(BIN)/sash secret table --format html --results docs/secret/results.json > docs/secret/table.html

bench: $(READY) java kafka  ## compare with other engines: one table, an hour on a quiet machine; and sash size with Spark
	$(BIN)/python -m benchmarks --opponents sizing

month: $(READY) java  ## a month of event time with 10⁷ keys, eight hours per step, in an hour or so: does anything grow? Goes on where it stopped
	$(BIN)/python -m benchmarks.month.run build/month --hours 8 --to docs/benchmarks

pictures: $(READY) chromium  ## photograph the live page for the documentation, in docs/images
	$(BIN)/python -m tests.dashboard.pictures

figures: $(READY) redis  ## run the papers' experiments; figures and tables 'paper | here' in docs/benchmarks. One to two hours
# Some of them: make figures PAPERS=stretch, or a program itself with --only, which leaves the other tables alone.
# One that fails, or misses a promise, does not stop the others. All of them are run, then make fails if one has.
	@failed=""; \
	$(foreach program,$(PAPERS),$(BIN)/python -m benchmarks.$(program) $(OPTIONS_$(program)) --to docs/benchmarks || failed="$$failed $(program)";) \
	test -z "$$failed" || { echo "failed, or missed what is promised:$$failed"; exit 1; }

# Not with --quiet: then --strict does not see the warnings either.
docs: $(READY)  ## build the documentation site, in build/site; a broken link or an unknown name fails
	$(BIN)/python tools/pictures.py docs/concepts/pictures
	$(BIN)/python tools/public_names.py docs/reference/names.md
	$(BIN)/python tools/pattern_matrix.py docs/reference/matrix.md
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

dist: $(READY)  ## build wheel and sdist, in dist
	rm -rf dist
	$(BIN)/python -m build

dist-check: dist java  ## install the wheel into an empty environment, and use it there
	$(BIN)/python tools/check_dist.py dist

clean:  ## remove what was built
	rm -rf $(VENV) $(PEERS) .venv-spark-* build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
