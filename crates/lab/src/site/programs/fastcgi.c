/* Answers as an application of FastCGI 1.0 at a Unix socket: PATH WORKERS. The answer to a request
 * for /HANDLER/LENGTH is the document of that length, of which the table above this text has all.
 * Each worker serves all of its connections in one loop, for a web server may keep many of them. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BEGIN = 1, END = 3, PARAMS = 4, STDIN = 5, STDOUT = 6 };
enum { HEADER = 8, MOST = 8192, ROOM = HEADER + 65535 + 255 };

struct connection {
    unsigned char received[ROOM];
    size_t filled;
    /* The end of the target of the request under way, as a number. */
    long wanted;
    /* Whether the web server asked for the connection to be kept. */
    int keep;
};

static struct connection *connections[MOST];
static struct pollfd watched[MOST];

static size_t length_at(const unsigned char **at, const unsigned char *end) {
    size_t length;
    if (*at >= end)
        return 0;
    length = *(*at)++;
    if (length & 0x80 && end - *at >= 3) {
        length = (length & 0x7f) << 24 | (size_t)(*at)[0] << 16 | (size_t)(*at)[1] << 8 | (*at)[2];
        *at += 3;
    }
    return length;
}

/* Finds the target among the parameters, which a web server sends in one record where they are as
 * few as here. */
static void read_parameters(struct connection *one, const unsigned char *at, size_t length) {
    const unsigned char *end = at + length;
    while (at < end) {
        size_t name = length_at(&at, end), value = length_at(&at, end);
        if (name > (size_t)(end - at) || value > (size_t)(end - at) - name)
            return;
        if (name == 11 && !memcmp(at, "REQUEST_URI", name)) {
            const unsigned char *digit = at + name + value;
            while (digit > at + name && digit[-1] >= '0' && digit[-1] <= '9')
                digit--;
            one->wanted = 0;
            for (; digit < at + name + value && one->wanted < 100000000; digit++)
                one->wanted = one->wanted * 10 + (*digit - '0');
        }
        at += name + value;
    }
}

static unsigned char *record(unsigned char *at, int type, const unsigned char *id, size_t length) {
    *at++ = 1;
    *at++ = (unsigned char)type;
    *at++ = id[0];
    *at++ = id[1];
    *at++ = (unsigned char)(length >> 8);
    *at++ = (unsigned char)length;
    *at++ = 0;
    *at++ = 0;
    return at;
}

static int send_all(int to, const unsigned char *bytes, size_t length) {
    while (length > 0) {
        ssize_t sent = send(to, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return 0;
        bytes += sent;
        length -= (size_t)sent;
    }
    return 1;
}

static int answer(int to, const struct connection *one, const unsigned char *id) {
    static unsigned char out[ROOM + 64];
    unsigned char *body = out + HEADER, *at;
    const struct document *document = documents;
    size_t length;
    while (document->text && document->bytes != one->wanted)
        document++;
    if (document->text)
        length = (size_t)sprintf((char *)body,
                                 "Content-Type: text/html\r\nContent-Length: %ld\r\n"
                                 "X-Handler: fastcgi-c %ld\r\n\r\n%s",
                                 document->bytes, (long)getpid(), document->text);
    else
        length = (size_t)sprintf((char *)body, "Status: 404\r\n\r\n");
    record(out, STDOUT, id, length);
    at = record(body + length, STDOUT, id, 0);
    at = record(at, END, id, 8);
    memset(at, 0, 8);
    return send_all(to, out, (size_t)(at + 8 - out)) && one->keep;
}

/* Takes the records that are there; whether the connection goes on. */
static int serve(int to, struct connection *one) {
    unsigned char *at = one->received;
    ssize_t got = recv(to, one->received + one->filled, ROOM - one->filled, 0);
    if (got <= 0)
        return got < 0 && errno == EINTR;
    one->filled += (size_t)got;
    while (one->filled >= HEADER) {
        size_t length = (size_t)at[4] << 8 | at[5], whole = HEADER + length + at[6];
        if (one->filled < whole)
            break;
        if (at[1] == BEGIN) {
            one->wanted = -1;
            one->keep = at[HEADER + 2] & 1;
        } else if (at[1] == PARAMS) {
            read_parameters(one, at + HEADER, length);
        } else if (at[1] == STDIN && length == 0 && !answer(to, one, at + 2)) {
            return 0;
        }
        at += whole;
        one->filled -= whole;
    }
    memmove(one->received, at, one->filled);
    return 1;
}

static void work(int listener) {
    nfds_t count = 1;
    watched[0].fd = listener;
    watched[0].events = POLLIN;
    for (;;) {
        if (poll(watched, count, -1) < 0)
            continue;
        for (nfds_t index = count; index-- > 1;) {
            if (!watched[index].revents || serve(watched[index].fd, connections[index]))
                continue;
            close(watched[index].fd);
            free(connections[index]);
            watched[index] = watched[--count];
            connections[index] = connections[count];
        }
        if (watched[0].revents && count < MOST) {
            /* Another worker may have been faster. */
            int accepted = accept(listener, NULL, NULL);
            if (accepted < 0)
                continue;
            connections[count] = calloc(1, sizeof *connections[count]);
            if (!connections[count])
                exit(1);
            watched[count].fd = accepted;
            watched[count].revents = 0;
            watched[count++].events = POLLIN;
        }
    }
}

int main(int argc, char **argv) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (argc != 3 || strlen(argv[1]) >= sizeof address.sun_path) {
        fprintf(stderr, "give a socket of at most 107 bytes, and how many workers\n");
        return 2;
    }
    strcpy(address.sun_path, argv[1]);
    umask(077);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096)) {
        perror(argv[1]);
        return 1;
    }
    for (int workers = atoi(argv[2]); workers > 0; workers--) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            work(listener);
        }
    }
    while (wait(NULL) > 0)
        ;
    return 1;
}
