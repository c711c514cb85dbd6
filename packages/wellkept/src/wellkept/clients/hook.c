/* The capture of an event without Python: `hook PYTHON -I -S .../hook.py CLIENT EVENT [MODE]`.

   Appends the payload to the spool exactly as `store/spool.py` does. Whatever is not a plain capture
   (an answer, a pause, redaction, a secret of certain form, a first event, an odd name, a full spool)
   is left to the Python program that the arguments name, with the same standard input. The build puts
   the tables of the Python side in front of this file (`install/native_hook.py`). */

#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const struct { const char *text; size_t least; } PREFIX[] = {PREFIXES};
static const char *const LEFT_TO_PYTHON[] = {EVENTS};
static const char *const SESSION_KEY[] = {SESSION_KEYS};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static char **python;
static char *payload;
static size_t size;

static void leave_to_python(void) {
    int ends[2];
    alarm(0);
    if (payload) { /* handed on by a child through a pipe: a secret must not touch the disk */
        if (pipe(ends)) exit(0);
        if (!fork()) {
            close(ends[0]);
            for (size_t done = 0; done < size;) {
                ssize_t put = write(ends[1], payload + done, size - done);
                if (put <= 0) break;
                done += (size_t)put;
            }
            _exit(0);
        }
        close(ends[1]);
        dup2(ends[0], 0);
    }
    execv(python[0], python);
    exit(0);
}

static void on_alarm(int number) { (void)number; }

static void read_payload(void) {
    size_t room = 1 << 16;
    ssize_t got;
    if (!(payload = malloc(room))) leave_to_python();
    while ((got = read(0, payload + size, room - size)) > 0) {
        size += (size_t)got;
        if (size > MAX_ENTRY_BYTES) size = MAX_ENTRY_BYTES + 1; /* the rest is only read away */
        if (room - size < (1 << 15)) {
            char *more = realloc(payload, room *= 2);
            if (!more) leave_to_python();
            payload = more;
        }
    }
}

static int in(const char *set, char one) { return one && strchr(set, one) != NULL; }

static int is_plain(const char *text, size_t length) {
    if (!length || length > NAME_CHARS) return 0;
    for (size_t i = 0; i < length; i++)
        if (!(isascii(text[i]) && (isalnum((unsigned char)text[i]) || in("_.-", text[i])))) return 0;
    return 1;
}

/* Whether a secret of certain form may be in it; Python decides and takes it out. */
static int may_hold_secret(void) {
    const char *end = payload + size, *at;
    if (memmem(payload, size, "<private>", 9) || memmem(payload, size, "PRIVATE KEY-----", 16)) return 1;
    for (size_t i = 0; i < COUNT(PREFIX); i++) {
        size_t length = strlen(PREFIX[i].text);
        for (at = payload; (at = memmem(at, (size_t)(end - at), PREFIX[i].text, length)); at++) {
            const char *last = at + length;
            while (last < end && in(TOKEN_CHARS, *last)) last++;
            if ((size_t)(last - at) - length >= PREFIX[i].least) return 1;
        }
    }
    for (at = payload; (at = memmem(at, (size_t)(end - at), "://", 3)); at += 3) {
        int colon = 0;
        const char *one = at + 3;
        for (; one < end && !in(NO_LOGIN, *one) && *one != '@'; one++) colon |= *one == ':';
        if (one < end && *one == '@' && colon) return 1;
    }
    return 0;
}

/* The session id, found without parsing, as `hook_process.session_key` does. */
static const char *session_key(size_t *length) {
    for (size_t i = 0; i < COUNT(SESSION_KEY); i++) {
        const char *at = memmem(payload, size, SESSION_KEY[i], strlen(SESSION_KEY[i]));
        if (!at) continue;
        at += strlen(SESSION_KEY[i]);
        const char *end = at + MAX_KEY_BYTES < payload + size ? at + MAX_KEY_BYTES : payload + size;
        while (at < end && in(" \t\r\n:", *at)) at++;
        const char *quote = at < end && *at == '"' ? memchr(at + 1, '"', (size_t)(end - at - 1)) : NULL;
        if (quote && quote > at + 1) return *length = (size_t)(quote - at - 1), at + 1;
    }
    return *length = strlen(UNKNOWN_SESSION), UNKNOWN_SESSION;
}

static uint32_t checksum(uint32_t crc, const char *text, size_t length) {
    static uint32_t table[256];
    if (!table[1])
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t one = i;
            for (int bit = 0; bit < 8; bit++) one = one >> 1 ^ (one & 1 ? 0xEDB88320u : 0);
            table[i] = one;
        }
    crc = ~crc;
    while (length--) crc = table[(crc ^ (unsigned char)*text++) & 255] ^ crc >> 8;
    return ~crc;
}

/* Whether the spool has room; its total is only added up when a file begins or grows by a step. */
static int has_room(const char *folder, off_t now, size_t more) {
    if (now && now / STEP_BYTES == (now + (off_t)more) / STEP_BYTES) return 1;
    unsigned long long total = more;
    DIR *open_folder = opendir(folder);
    if (!open_folder) return 0;
    for (struct dirent *one; (one = readdir(open_folder));) {
        struct stat found;
        const char *dot = strrchr(one->d_name, '.');
        if (dot && !strcmp(dot, SUFFIX) && !fstatat(dirfd(open_folder), one->d_name, &found, AT_SYMLINK_NOFOLLOW))
            total += (unsigned long long)found.st_size;
    }
    closedir(open_folder);
    return total <= MAX_TOTAL_BYTES;
}

static int exists(const char *folder, const char *name) {
    char path[4096];
    return snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path || !access(path, F_OK);
}

int main(int count, char **words) {
    const char *home = getenv("HOME"), *own = getenv("WELLKEPT_HOME"), *given = getenv("XDG_STATE_HOME");
    char state[2048], folder[2100], path[4096], head[512], id[40];
    unsigned char chance[10];
    struct timespec moment;
    struct stat found;
    int at = 1, file, fit;
    if (getenv("WELLKEPT_SELF") || count < 4) return 0;
    python = words + 1;
    while (at < count && (strlen(words[at]) < 7 || strcmp(words[at] + strlen(words[at]) - 7, "hook.py"))) at++;
    if (at + 2 >= count || (at + 3 < count && strcmp(words[at + 3], "capture"))) leave_to_python();
    const char *client = words[at + 1], *event = words[at + 2];
    if (getenv("WELLKEPT_DEBUG") || getenv("WELLKEPT_CAPTURE_REDACT")) leave_to_python();
    if (!is_plain(client, strlen(client)) || !is_plain(event, strlen(event))) leave_to_python();
    for (size_t i = 0; i < COUNT(LEFT_TO_PYTHON); i++)
        if (!strcasecmp(event, LEFT_TO_PYTHON[i])) leave_to_python();
    if (own && *own) fit = *own == '/' ? snprintf(state, sizeof state, "%s", own) : -1;
    else if (USES_XDG && given && *given == '/') fit = snprintf(state, sizeof state, "%s/wellkept", given);
    else fit = home && *home == '/' ? snprintf(state, sizeof state, "%s/%s/wellkept", home, STATE_BELOW_HOME) : -1;
    if (fit < 0 || fit >= (int)sizeof state || exists(state, OFF_NAME) || exists(state, REDACT_NAME)) leave_to_python();

    struct sigaction action = {.sa_handler = on_alarm}; /* without SA_RESTART: a read ends */
    sigaction(SIGALRM, &action, NULL);
    alarm(READ_LIMIT_S);
    read_payload();
    alarm(WRITE_LIMIT_S);
    size_t length;
    const char *session = session_key(&length);
    if (size > MAX_SCANNED_BYTES || !is_plain(session, length) || may_hold_secret()) leave_to_python();
    if (clock_gettime(CLOCK_REALTIME, &moment) || getentropy(chance, sizeof chance)) leave_to_python();
    unsigned long long now = (unsigned long long)moment.tv_sec * 1000 + (unsigned long long)moment.tv_nsec / 1000000;
    snprintf(id, sizeof id, "%08llx-%04llx-7%01x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", now >> 16 & 0xFFFFFFFF, now & 0xFFFF,
             chance[0] & 15, chance[1], 0x80 | (chance[2] & 63), chance[3], chance[4], chance[5], chance[6], chance[7],
             chance[8], chance[9]);
    int head_size = snprintf(head, sizeof head - 16, "H1 %s %llu %s %s %zu ", id, now, client, event, size);
    uint32_t crc = checksum(checksum(0, head, (size_t)head_size), payload, size);
    head_size += snprintf(head + head_size, 16, "%08x\n", crc);
    size_t whole = (size_t)head_size + size + 1;
    char *entry = malloc(whole);
    if (!entry) leave_to_python();
    memcpy(entry, head, (size_t)head_size);
    memcpy(entry + head_size, payload, size);
    entry[whole - 1] = '\n';

    snprintf(folder, sizeof folder, "%s/%s", state, FOLDER_NAME);
    snprintf(path, sizeof path, "%s/%s-%.*s%s", folder, client, (int)length, session, SUFFIX);
    do { /* a reader may have removed the file between open and lock */
        if ((file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0600)) < 0) leave_to_python();
        if (flock(file, LOCK_SH) || fstat(file, &found)) leave_to_python();
    } while (found.st_nlink == 0 && !close(file));
    if (!has_room(folder, found.st_size, whole)) leave_to_python();
    if (write(file, entry, whole) != (ssize_t)whole) leave_to_python();
    fsync(file);
    int parent = open(folder, O_RDONLY | O_DIRECTORY);
    if (parent >= 0) fsync(parent);
    return 0;
}
