/* A server that knows how long each of its answers took, by nobody's library. It polls on one CPU,
 * and holds every answer back by a law:
 *
 *   constant US               so long
 *   two US OTHER PERMILLE     so long, and so many of a thousand the other time
 *   pareto US ALPHA_PERMILLE  at least so long, with a tail of that exponent, at most 2 s
 *   stall US EVERY_MS MS      so long; and in between it does nothing at all for so many ms
 *   paced PER_SECOND          one after the other, each takes its share of a second
 *
 * With `slots COUNT` before its law it works on so many requests at once, and the others wait for
 * their turn: its capacity is that count by the mean of the law.
 *
 * It prints its port. Told to end, it prints how many answers it gave, and a line for each: when the
 * kernel took its request in, by the clock of the day, and how long it took from then to just before
 * the answer was handed over, both in nanoseconds. The word `first` follows where that was the first
 * answer on its connection. Of more than some million answers only the first are told. Its first
 * stall begins half of EVERY_MS after WARMUP_MS after the first request. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FILES 20000
#define ANSWERS 4000000
#define SLOTS 1024

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n1234567";

/* An answer that is held back. */
struct held {
  int64_t due, received;
  int fd;
  /* Whether nothing was asked on its connection before. */
  unsigned char is_first;
};

static struct held heap[FILES];
static int held_count;
/* What is known of an answer that was given. */
struct note {
  int64_t received;
  uint32_t took;
  unsigned char is_first;
};

static struct note *notes;
static size_t note_count;
static uint64_t answered;
/* How many bytes of the blank line that ends a request have come. */
static unsigned char ending[FILES];
/* Whether anything was asked on the connection. */
static unsigned char asked[FILES];
static volatile sig_atomic_t over;
/* When each slot has done what it was given. */
static int64_t done[SLOTS];
static int slots;

static void end(int number) {
  (void)number;
  over = 1;
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Between 0 and 1, neither included: xorshift64*. */
static double uniform(void) {
  static uint64_t state = 88172645463325252ULL;
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return ((state * 2685821657736338717ULL >> 11) + 0.5) / 9007199254740992.0;
}

static void push(struct held one) {
  int at = held_count++;
  while (at > 0 && heap[(at - 1) / 2].due > one.due) {
    heap[at] = heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap[at] = one;
}

static struct held pop(void) {
  struct held first = heap[0], last = heap[--held_count];
  int at = 0;
  for (;;) {
    int child = 2 * at + 1;
    if (child >= held_count) break;
    if (child + 1 < held_count && heap[child + 1].due < heap[child].due) child++;
    if (heap[child].due >= last.due) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = last;
  return first;
}

/* When an answer to what was received at `received` is due, by the law. */
static int64_t due(char **law, int64_t received) {
  static int64_t free_from;
  double us = atof(law[1]);
  if (!strcmp(law[0], "two") && uniform() * 1000 < atof(law[3])) us = atof(law[2]);
  if (!strcmp(law[0], "pareto")) {
    us *= pow(uniform(), -1000 / atof(law[2]));
    if (us > 2e6) us = 2e6;
  }
  if (strcmp(law[0], "paced")) {
    int64_t takes = us * 1e3;
    if (!slots) return received + takes;
    int first = 0;
    for (int i = 1; i < slots; i++)
      if (done[i] < done[first]) first = i;
    return done[first] = (done[first] > received ? done[first] : received) + takes;
  }
  free_from = (received > free_from ? received : free_from) + (int64_t)(1e9 / us);
  return free_from;
}

/* Reads from `fd`; when the last of it was received, or -1 where it has ended. */
static int64_t take(int fd, char *bytes, size_t size, ssize_t *count) {
  char control[256];
  struct iovec part = {bytes, size};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                           .msg_controllen = sizeof control};
  *count = recvmsg(fd, &message, 0);
  if (*count == 0 || (*count < 0 && errno != EAGAIN && errno != EINTR)) return -1;
  for (struct cmsghdr *one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one))
    if (one->cmsg_level == SOL_SOCKET && one->cmsg_type == SCM_TIMESTAMPNS) {
      struct timespec t;
      memcpy(&t, CMSG_DATA(one), sizeof t);
      return t.tv_sec * 1000000000LL + t.tv_nsec;
    }
  return now();
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(atoi(argv[1]), &one);
  sched_setaffinity(0, sizeof one, &one);
  int64_t warmup = atoll(argv[2]) * 1000000, first_at = 0;
  char **law = argv + 3;
  if (!strcmp(law[0], "slots") && argc > 6) {
    slots = atoi(law[1]);
    if (slots < 1 || slots > SLOTS) return 2;
    law += 2;
  }
  int stalls = !strcmp(law[0], "stall");
  int64_t every = stalls ? atoll(law[2]) * 1000000 : 0, lasts = stalls ? atoll(law[3]) * 1000000 : 0;
  int64_t next_stall = INT64_MAX;
  struct rlimit files = {FILES, FILES};
  setrlimit(RLIMIT_NOFILE, &files);
  notes = malloc(ANSWERS * sizeof *notes);
  if (!notes) return 6;
  memset(notes, 0, ANSWERS * sizeof *notes);
  signal(SIGTERM, end);
  signal(SIGALRM, end);
  alarm(900);

  int yes = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof at;
  setsockopt(listener, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof yes);
  setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 4096)) return 3;
  getsockname(listener, (struct sockaddr *)&at, &length);
  printf("listens on port %d\n", ntohs(at.sin_port));
  fflush(stdout);

  int poll = epoll_create1(0);
  struct epoll_event events[512], wanted = {.events = EPOLLIN, .data.fd = listener};
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &wanted);
  static char bytes[65536];
  while (!over) {
    int ready = epoll_wait(poll, events, 512, 0);
    for (int i = 0; i < ready; i++) {
      int fd = events[i].data.fd;
      if (fd == listener) {
        int new;
        while ((new = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
          if (new >= FILES) return 4;
          ending[new] = asked[new] = 0;
          wanted.data.fd = new;
          epoll_ctl(poll, EPOLL_CTL_ADD, new, &wanted);
        }
        continue;
      }
      ssize_t count;
      int64_t received = take(fd, bytes, sizeof bytes, &count);
      if (received < 0) {
        close(fd);
        continue;
      }
      for (ssize_t at = 0; at < count; at++) {
        ending[fd] = bytes[at] == "\r\n\r\n"[ending[fd]] ? ending[fd] + 1 : bytes[at] == '\r';
        if (ending[fd] < 4) continue;
        ending[fd] = 0;
        if (!first_at) {
          first_at = received;
          if (stalls) next_stall = first_at + warmup + every / 2;
        }
        if (held_count == FILES) return 5;
        push((struct held){due(law, received), received, fd, !asked[fd]});
        asked[fd] = 1;
      }
    }
    int64_t time = now();
    if (time >= next_stall) {
      while (now() < next_stall + lasts) continue;
      next_stall += every;
    }
    while (held_count > 0 && heap[0].due <= (time = now())) {
      struct held one = pop();
      /* Of an exchange that its client has given up nothing is known. */
      if (write(one.fd, answer, sizeof answer - 1) < 0) continue;
      answered++;
      if (note_count == ANSWERS) continue;
      notes[note_count++] = (struct note){one.received, (uint32_t)(time - one.received), one.is_first};
    }
  }
  printf("%llu\n", (unsigned long long)answered);
  for (size_t i = 0; i < note_count; i++)
    printf("%lld %u%s\n", (long long)notes[i].received, notes[i].took,
           notes[i].is_first ? " first" : "");
  return 0;
}
