/* `memwhy serve`: stays on a host; what is seen is served to what stores metrics. */
#include "serve/serve.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "cmd/entries.h"
#include "cmd/run.h"
#include "cmd/scope.h"
#include "serve/config_file.h"

#define DEFAULT_LISTEN "127.0.0.1:9669"
#define DEFAULT_SERIES 2000
#define DEFAULT_INTERVAL_NS (10 * NSEC_PER_SEC)
#define DEFAULT_KEEP_NS (600 * NSEC_PER_SEC)
#define DEFAULT_KEEP_BYTES (4ULL << 20)
#define DEFAULT_STALL_NS (5 * NSEC_PER_SEC)
#define DEFAULT_PRESSURE 6000 /* 1/100 % */
#define DEFAULT_INCIDENTS 50
#define DEFAULT_INCIDENT_BYTES (512ULL << 20)
#define DEFAULT_FREE_BYTES (256ULL << 20)

struct serving {
	const struct command *cmd;
	const struct options *line; /* as the command line has them */
	struct options o;           /* with what the file of settings says */
	/* They own the texts of o: as the service was begun, of the latest reload that it took, and
	 * of the one that it may take. */
	struct settings begun, taken, offered;
};

/* Takes from `file` what the command line left as it was. */
static void options_fill(struct options *o, const struct options *file, const struct opt_set *sets)
{
	for (; sets->opts; sets++)
		for (size_t i = 0; i < sets->n; i++) {
			const struct opt *opt = &sets->opts[i];
			size_t n = opt->type == OPT_FLAG ? sizeof(bool) : sizeof(u64);
			const char *normal = (const char *)&options_default + opt->offset;
			char *to = (char *)o + opt->offset;

			if (!memcmp(to, normal, n))
				memcpy(to, (const char *)file + opt->offset, n);
		}
}

/* A settings file has options only, and no other file of settings. */
static int cmd_serve_file_take(
	struct serving *s, struct settings *words, struct options *ret, struct err *err)
{
	int operands, rest, rc;

	*ret = options_default;
	rc = opt_parse(options_of(s->cmd, NULL), options_all(), ret, (int)words->words.n,
		words->words.v, &operands, &rest, err);
	if (!rc && (ret->config || ret->help))
		rc = err_set(err, -EINVAL, "config and help are not settings");
	if (rc) {
		char why[sizeof(err->msg)];

		snprintf(why, sizeof(why), "%s", err->msg);
		err_set(err, -EINVAL, "%.100s: %.380s", s->line->config, why);
	}
	return rc;
}

/* The command line over the file of settings, in s->o. On failure s->o is as it was. */
static int settings_load(struct serving *s, struct err *err)
{
	_cleanup_str_ struct str text = {};
	struct settings words = {};
	struct options o = *s->line, file;
	int rc;

	if (!s->line->config) {
		s->o = o;
		return 0;
	}
	rc = file_read(s->line->config, &text);
	if (rc)
		return err_errno(err, rc, "--config: cannot read %s", s->line->config);
	rc = settings_parse(str_get(&text), s->line->config, &words, err);
	if (!rc)
		rc = cmd_serve_file_take(s, &words, &file, err);
	if (rc) {
		settings_free(&words);
		return rc;
	}
	options_fill(&o, &file, options_of(s->cmd, NULL));
	s->o = o;
	settings_free(&s->offered);
	s->offered = words;
	return 0;
}

/* "60", "12.5": hundredths of a percent. */
static int percent_parse(const char *text, u32 *ret, struct err *err)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value > 0) || value > 100) {
		err_set(err, -EINVAL, "--on-pressure: '%.40s' is not a percentage", text);
		return err_hint(err, "a number above 0, up to 100");
	}
	*ret = (u32)(value * 100);
	return 0;
}

static int triggers_make(const struct options *o, struct trigger_config *ret, struct err *err)
{
	*ret = (struct trigger_config){
		.on_level = LEVEL_CRITICAL,
		.on_stall_ns = o->on_stall_ns ? o->on_stall_ns : DEFAULT_STALL_NS,
		.on_pressure = DEFAULT_PRESSURE,
		.on_limit = o->on_limit,
		.again_ns = o->keep_ns ? o->keep_ns : DEFAULT_KEEP_NS,
	};
	if (o->on_level && !strcmp(o->on_level, "never"))
		ret->on_level = LEVEL_CRITICAL + 1;
	else if (o->on_level && finding_level_parse(o->on_level, &ret->on_level)) {
		err_set(err, -EINVAL, "--on: '%.40s' is not a level", o->on_level);
		return err_hint(err, "levels: note, risk, warning, critical, never");
	}
	return o->on_pressure ? percent_parse(o->on_pressure, &ret->on_pressure, err) : 0;
}

static u64 given(u64 value, u64 instead)
{
	return value ? value : instead;
}

static int box_make(const struct options *o, struct blackbox_config *ret, struct err *err)
{
	*ret = (struct blackbox_config){
		.dir = o->no_incidents ? NULL
		       : o->incidents  ? o->incidents
				       : INCIDENTS_DIR,
		.keep_ns = given(o->keep_ns, DEFAULT_KEEP_NS),
		.ring_bytes = given(o->keep_bytes, DEFAULT_KEEP_BYTES),
		.limits =
			{
				.most = given(o->max_incidents, DEFAULT_INCIDENTS),
				.most_bytes = given(o->max_incident_bytes, DEFAULT_INCIDENT_BYTES),
				.min_free = given(o->min_free_bytes, DEFAULT_FREE_BYTES),
			},
	};
	return triggers_make(o, &ret->triggers, err);
}

static int config_make(const struct options *o, struct serve_config *ret, struct err *err)
{
	ret->listen = o->listen ? o->listen : DEFAULT_LISTEN;
	ret->auth = o->auth;
	ret->max_series = o->max_series ? o->max_series : DEFAULT_SERIES;
	ret->interval_ns = o->interval_ns ? o->interval_ns : DEFAULT_INTERVAL_NS;
	ret->for_ns = o->for_ns;
	ret->quiet = o->quiet;
	ret->profiles = o->profiles;
	ret->push = o->push;
	ret->push_labels = o->push_labels;
	ret->push_headers = o->push_headers;
	return box_make(o, &ret->box, err);
}

static int reload(void *arg, struct serve_config *ret, struct err *err)
{
	struct serving *s = arg;
	int rc = settings_load(s, err);

	return rc ? rc : config_make(&s->o, ret, err);
}

static void reload_taken(void *arg)
{
	struct serving *s = arg;

	settings_free(&s->taken);
	s->taken = s->offered;
	s->offered = (struct settings){};
}

static int serve_go(struct serving *s, struct session_result *result, struct err *err)
{
	const struct serve_reload again = {reload, reload_taken, s};
	struct serve_config cfg = {};
	struct scope_words words;
	int rc = settings_load(s, err);

	s->begun = s->offered;
	s->offered = (struct settings){};
	if (!rc)
		rc = scope_from_options(&s->o, &cfg.capture, &words, err);
	if (rc)
		return rc;
	cfg.scope_text = words.text;
	rc = config_make(&s->o, &cfg, err);
	if (!rc)
		rc = serve_run(&cfg, &again, result, err);
	scope_free(&cfg.capture);
	return rc;
}

static int serve(const struct command *cmd, struct options *o)
{
	struct serving s = {.cmd = cmd, .line = o};
	struct session_result result = {};
	struct err err = {};
	int rc = serve_go(&s, &result, &err);

	command_end(rc, &err, cmd->name);
	settings_free(&s.begun);
	settings_free(&s.taken);
	settings_free(&s.offered);
	/* A signal is how a service is told to end. */
	result.interrupted = false;
	return run_status(rc, &result);
}

static const char *const examples[] = {
	"memwhy serve",
	"serve metrics at http://127.0.0.1:9669/metrics",
	"memwhy serve --listen unix:/run/memwhy.sock",
	"the same on a Unix socket",
	"memwhy serve --config /etc/memwhy/serve.conf",
	"with settings from a file, which SIGHUP reads again",
	"memwhy serve --allow-profiles",
	"with profiles on demand for go tool pprof, at /debug/pprof",
	NULL,
};

const struct command command_serve = {
	.name = "serve",
	.summary = "Stay on this host: metrics for Prometheus, and findings as they come",
	.groups = GROUP_SERVE,
	.details =
		"Runs the probes of check until it is stopped (SIGTERM, Ctrl-C), and serves "
		"what they see over HTTP: /metrics for Prometheus and compatible systems "
		"(OpenMetrics or the classic text format, as the client asks), / with what check "
		"finds now, and /healthz. Metrics describe the machine and its control groups, "
		"never single processes, and their number is bounded.\n\n"
		"Each new finding and each OOM kill is a line of JSON on standard output.\n\n"
		"The records of the last minutes are kept in memory, and are written to "
		"--incidents as a recording when something happens: an OOM kill, a long stall, "
		"high pressure, a critical finding, SIGUSR1. `memwhy incidents` lists these "
		"recordings; any command reads one with --input.\n\n"
		"Only this machine can reach it unless --listen says otherwise. There is no TLS: "
		"to let others read it, put a proxy in front.\n\n"
		"--push sends profiles of page faults and stalls to a Pyroscope server, "
		"--allow-profiles serves profiles on demand.\n\n"
		"SIGHUP rereads the files given by --config and --auth. Settings that cannot "
		"change at run time (listen, interval, for, allow-profiles, incidents, push) keep "
		"their values, and a line in the journal names them.",
	.examples = examples,
	.run = serve,
};
