/* cel_forms.h - expressions made from the grammar by a target's input, most of them well typed
 */
#pragma once

#include "choose.h"

#define EXPRESSION_DEPTH 4
#define MAX_TEXT 600

/* Expressions by the type they yield; a letter behind @ is a part of that type. What upstream
 * estimates too low has a ~ before it (or no type): selections on what is computed,
 * flatten(), split() of nothing, replace() of what substring() left empty, `format`; and where
 * '' is nothing, an error counts as one.
 */
static const struct {
    char type;
    const char *form;
} forms[] = {
    {'i', "i"                                             },
    {'i', "v"                                             },
    {'i', "w"                                             },
    {'i', "0"                                             },
    {'i', "1"                                             },
    {'i', "-3"                                            },
    {'i', "9223372036854775807"                           },
    {'i', "-9223372036854775808"                          },
    {'i', "0x1F"                                          },
    {'i', "@i + @i"                                       },
    {'i', "@i - @i"                                       },
    {'i', "@i * @i"                                       },
    {'i', "@i / @i"                                       },
    {'i', "@i % @i"                                       },
    {'i', "-@i"                                           },
    {'i', "size(@s)"                                      },
    {'i', "@l.size()"                                     },
    {'i', "@m.size()"                                     },
    {'i', "int(@s)"                                       },
    {'i', "int(@d)"                                       },
    {'i', "int(@u)"                                       },
    {'i', "int(@t)"                                       },
    {'i', "~@l[@i]"                                       },
    {'i', "~@m[@s]"                                       },
    {'i', "~@m.k"                                         },
    {'i', "@s.indexOf(@s)"                                },
    {'i', "@s.indexOf(@s, @i)"                            },
    {'i', "@s.lastIndexOf(@s, @i)"                        },
    {'i', "@l.sum()"                                      },
    {'i', "@l.max()"                                      },
    {'i', "@l.min()"                                      },
    {'i', "@l.indexOf(@i)"                                },
    {'i', "@l.lastIndexOf(@i)"                            },
    {'i', "@o.orValue(@i)"                                },
    {'i', "@o.value()"                                    },
    {'i', "@q.compareTo(@q)"                              },
    {'i', "sign(@q)"                                      },
    {'i', "@q.asInteger()"                                },
    {'i', "@e.major()"                                    },
    {'i', "@e.compareTo(@e)"                              },
    {'i', "@t.getFullYear()"                              },
    {'i', "@t.getMonth()"                                 },
    {'i', "@t.getDayOfYear()"                             },
    {'i', "@t.getDate('-02:30')"                          },
    {'i', "@t.getDayOfWeek(@s)"                           },
    {'i', "@t.getHours()"                                 },
    {'i', "@p.getMilliseconds()"                          },
    {'i', "@p.getHours()"                                 },
    {'i', "@n.family()"                                   },
    {'i', "@c.prefixLength()"                             },
    {'i', "(@b ? @i : @i)"                                },
    {'u', "u"                                             },
    {'u', "0u"                                            },
    {'u', "18446744073709551615u"                         },
    {'u', "@u + @u"                                       },
    {'u', "@u - @u"                                       },
    {'u', "@u * @u"                                       },
    {'u', "@u / @u"                                       },
    {'u', "@u % @u"                                       },
    {'u', "uint(@i)"                                      },
    {'u', "uint(@d)"                                      },
    {'u', "uint(@s)"                                      },
    {'d', "d"                                             },
    {'d', "0.0"                                           },
    {'d', "-1.5e3"                                        },
    {'d', "1e308"                                         },
    {'d', "@d + @d"                                       },
    {'d', "@d * @d"                                       },
    {'d', "@d / @d"                                       },
    {'d', "-@d"                                           },
    {'d', "double(@i)"                                    },
    {'d', "double(@s)"                                    },
    {'d', "double(@u)"                                    },
    {'d', "@q.asApproximateFloat()"                       },
    {'b', "b"                                             },
    {'b', "true"                                          },
    {'b', "false"                                         },
    {'b', "!@b"                                           },
    {'b', "@b && @b"                                      },
    {'b', "@b || @b"                                      },
    {'b', "@b && @b && @b"                                },
    {'b', "@i == @i"                                      },
    {'b', "@s == @s"                                      },
    {'b', "@s != @s"                                      },
    {'b', "@d == @d"                                      },
    {'b', "@l == @l"                                      },
    {'b', "@m == @m"                                      },
    {'b', "@o == @o"                                      },
    {'b', "~@x == @x"                                     },
    {'b', "@y == @y"                                      },
    {'b', "@q == @q"                                      },
    {'b', "@t == @t"                                      },
    {'b', "@i < @i"                                       },
    {'b', "@s <= @s"                                      },
    {'b', "@d > @d"                                       },
    {'b', "@i < @d"                                       },
    {'b', "@u >= @i"                                      },
    {'b', "@p < @p"                                       },
    {'b', "@t >= @t"                                      },
    {'b', "@y < @y"                                       },
    {'b', "~@x < @x"                                      },
    {'b', "@i in @l"                                      },
    {'b', "@s in @S"                                      },
    {'b', "@s in @m"                                      },
    {'b', "@i in [1, 2, 3, 7]"                            },
    {'b', "@s in ['a', 'b', 'one']"                       },
    {'b', "~@x in [1, 'a', 2.0, 3u]"                      },
    {'b', "@s.contains(@s)"                               },
    {'b', "@s.startsWith(@s)"                             },
    {'b', "@s.endsWith(@s)"                               },
    {'b', "@s.matches('^[a-z]+$')"                        },
    {'b', "@s.matches('(a|b)*c')"                         },
    {'b', "@s.matches(@s)"                                },
    {'b', "~has(@m.k)"                                    },
    {'b', "~has(@m.nothing)"                              },
    {'b', "~has(x.k)"                                     },
    {'b', "@o.hasValue()"                                 },
    {'b', "@l.all(v, @b)"                                 },
    {'b', "@l.exists(v, @b)"                              },
    {'b', "@l.exists_one(w, @b)"                          },
    {'b', "@l.all(v, w, @b)"                              },
    {'b', "@S.exists(s, @b)"                              },
    {'b', "@m.all(s, @b)"                                 },
    {'b', "@m.exists(s, i, @b)"                           },
    {'b', "@l.isSorted()"                                 },
    {'b', "@S.isSorted()"                                 },
    {'b', "sets.contains(@l, @l)"                         },
    {'b', "sets.intersects(@S, @S)"                       },
    {'b', "sets.equivalent(@l, @l)"                       },
    {'b', "isQuantity(@s)"                                },
    {'b', "isSemver(@s, @b)"                              },
    {'b', "isIP(@s)"                                      },
    {'b', "isCIDR(@s)"                                    },
    {'b', "isURL(@s)"                                     },
    {'b', "@q.isInteger()"                                },
    {'b', "@q.isGreaterThan(@q)"                          },
    {'b', "@e.isLessThan(@e)"                             },
    {'b', "@c.containsIP(@n)"                             },
    {'b', "@c.containsIP(@s)"                             },
    {'b', "@c.containsCIDR(@c)"                           },
    {'b', "@n.isLoopback()"                               },
    {'b', "ip.isCanonical(@s)"                            },
    {'b', "bool(@s)"                                      },
    {'b', "~type(@x) == int"                              },
    {'b', "~type(@x) == type(@x)"                         },
    {'b', "@l.includes(@i)"                               },
    {'b', "~format.dns1123Label().validate(@s).hasValue()"},
    {'s', "s"                                             },
    {'s', "'a'"                                           },
    {'s', "~''"                                           },
    {'s', "'\xc3\xa4'"                                    },
    {'s', "'one'"                                         },
    {'s', "r'\\d+'"                                       },
    {'s', "@s + @s"                                       },
    {'s', "string(@i)"                                    },
    {'s', "string(@d)"                                    },
    {'s', "string(@u)"                                    },
    {'s', "string(@b)"                                    },
    {'s', "string(@t)"                                    },
    {'s', "string(@p)"                                    },
    {'s', "string(@y)"                                    },
    {'s', "string(@n)"                                    },
    {'s', "string(@c)"                                    },
    {'s', "@s.charAt(@i)"                                 },
    {'s', "@s.substring(@i)"                              },
    {'s', "@s.substring(@i, @i)"                          },
    {'s', "~@s.replace(@s, @s)"                           },
    {'s', "~@s.replace(@s, @s, @i)"                       },
    {'s', "@s.lowerAscii()"                               },
    {'s', "@s.upperAscii()"                               },
    {'s', "@s.trim()"                                     },
    {'s', "@S.join(@s)"                                   },
    {'s', "~@S[@i]"                                       },
    {'s', "strings.quote(@s)"                             },
    {'s', "~'%s %d %x'.format([@x, @i, @s])"              },
    {'s', "'%.2f|%e|%s'.format([@d, @d, @l])"             },
    {'s', "~'%s'.format([@x])"                            },
    {'s', "@s.find('[0-9]+')"                             },
    {'s', "@s.find(@s)"                                   },
    {'s', "@r.getHost()"                                  },
    {'s', "@r.getEscapedPath()"                           },
    {'s', "(@b ? @s : @s)"                                },
    {'y', "y"                                             },
    {'y', "b'\\x00\xc3\xa4'"                              },
    {'y', "@y + @y"                                       },
    {'y', "bytes(@s)"                                     },
    {'l', "l"                                             },
    {'l', "~[]"                                           },
    {'l', "[@i]"                                          },
    {'l', "[@i, @i, @i]"                                  },
    {'l', "[1, 2, 3]"                                     },
    {'l', "[@i, ?@o]"                                     },
    {'l', "@l + @l"                                       },
    {'l', "@l.map(v, @i)"                                 },
    {'l', "@l.map(v, @b, @i)"                             },
    {'l', "@l.filter(v, @b)"                              },
    {'l', "@m.map(s, @i)"                                 },
    {'l', "@l.transformList(v, w, @i)"                    },
    {'l', "@m.transformList(s, i, @b, @i)"                },
    {'l', "@l.sort()"                                     },
    {'l', "@l.sortBy(v, @i)"                              },
    {'l', "@l.distinct()"                                 },
    {'l', "@l.reverse()"                                  },
    {'l', "@l.slice(@i, @i)"                              },
    {'l', "~[@l, @l].flatten()"                           },
    {'l', "lists.range(@i % 9)"                           },
    {'l', "(@b ? @l : @l)"                                },
    {'S', "S"                                             },
    {'S', "[@s, @s]"                                      },
    {'S', "['a', 'b']"                                    },
    {'S', "~@s.split(@s)"                                 },
    {'S', "~@s.split(@s, @i)"                             },
    {'S', "@s.findAll('[a-z]')"                           },
    {'S', "@l.map(v, @s)"                                 },
    {'S', "@S.filter(s, @b)"                              },
    {'S', "@S.sort()"                                     },
    {'S', "@S + @S"                                       },
    {'S', "@m.map(s, s)"                                  },
    {'m', "m"                                             },
    {'m', "~{}"                                           },
    {'m', "{'k': @i}"                                     },
    {'m', "{@s: @i, @s: @i}"                              },
    {'m', "{'a': 1, 'k': 2}"                              },
    {'m', "{'k': 1, ?@s: @o}"                             },
    {'m', "@m.transformMap(s, i, @i)"                     },
    {'m', "@m.transformMap(s, i, @b, @i)"                 },
    {'m', "@l.transformMapEntry(v, w, {@s: @i})"          },
    {'t', "t"                                             },
    {'t', "timestamp(@s)"                                 },
    {'t', "timestamp(@i)"                                 },
    {'t', "timestamp('2024-02-29T12:30:45.5Z')"           },
    {'t', "@t + @p"                                       },
    {'t', "@t - @p"                                       },
    {'p', "p"                                             },
    {'p', "duration('1h2m3.5s')"                          },
    {'p', "duration(@s)"                                  },
    {'p', "@p + @p"                                       },
    {'p', "@t - @t"                                       },
    {'o', "o"                                             },
    {'o', "optional.none()"                               },
    {'o', "optional.of(@i)"                               },
    {'o', "optional.ofNonZeroValue(@i)"                   },
    {'o', "~@m.?k"                                        },
    {'o', "~@m[?@s]"                                      },
    {'o', "~@l[?@i]"                                      },
    {'o', "@o.or(@o)"                                     },
    {'o', "@o.optMap(v, @i)"                              },
    {'o', "@o.optFlatMap(v, @o)"                          },
    {'o', "@l.first()"                                    },
    {'o', "@l.last()"                                     },
    {'q', "q"                                             },
    {'q', "quantity('1.5Ki')"                             },
    {'q', "quantity(@s)"                                  },
    {'q', "@q.add(@q)"                                    },
    {'q', "@q.sub(@i)"                                    },
    {'e', "semver('1.2.3')"                               },
    {'e', "semver(@s, true)"                              },
    {'n', "ip('10.0.0.1')"                                },
    {'n', "ip(@s)"                                        },
    {'n', "@c.ip()"                                       },
    {'c', "cidr('10.0.0.0/8')"                            },
    {'c', "cidr(@s)"                                      },
    {'c', "@c.masked()"                                   },
    {'r', "url('https://a.b:80/c?d=e')"                   },
    {'r', "url(@s)"                                       },
    {'x', "~x"                                            },
    {'x', "~x.k"                                          },
    {'x', "~x[@i]"                                        },
    {'x', "~x.?k"                                         },
    {'x', "~x[?@s]"                                       },
    {'x', "~dyn(@i)"                                      },
    {'x', "~dyn(@s)"                                      },
    {'x', "~dyn(@d)"                                      },
    {'x', "~dyn(@l)"                                      },
    {'x', "~dyn(@m)"                                      },
    {'x', "~dyn(@b)"                                      },
    {'x', "~dyn(@o)"                                      },
    {'x', "~null"                                         },
    {'x', "~int"                                          },
    {'x', "~@x + @x"                                      },
    {'x', "~@x.map(v, @x)"                                },
    {'x', "~@x.filter(x, @b)"                             },
    {'x', "~@x.size()"                                    },
    {'x', "~(@b ? @x : @x)"                               },
    {'x', "~dyn(@t)"                                      },
    {'x', "~dyn(@p)"                                      },
    {'x', "~dyn(@y)"                                      },
    {'x', "~dyn(@q)"                                      },
    {'x', "~type(@x)"                                     },
};
static const char types[] = "iudbsylSmtpoqencrx";

struct range {
    uint16_t from, n; /* rows of a type */
    uint16_t leaves;  /* the first of them: those without parts */
};
static struct range ranges[128];

static void find_ranges(void)
{
    for (uint16_t i = 0; i < countof(forms); i++) {
        struct range *r = &ranges[(int)forms[i].type];
        r->from = r->n++ ? r->from : i;
        r->leaves += r->leaves == i - r->from && !strchr(forms[i].form, '@');
    }
}

static bool is_loose; /* the expression at hand is estimated too low */

static void expression(struct bytes *b, struct buf *out, char type, int depth)
{
    bool is_leaf = depth <= 0 || out->len > MAX_TEXT;

    if (take(b, 64) == 63)
        type = types[take(b, sizeof(types) - 1)];
    const struct range *r = &ranges[(int)type];
    unsigned n = is_leaf && r->leaves ? r->leaves : r->n;
    const char *form = forms[r->from + take(b, n)].form;
    bool has_parts = strchr(form, '@') != NULL;

    is_loose |= type == 'x';

    if (is_leaf && has_parts) { /* the type has no leaf */
        buf_byte(out, 'x');
        is_loose = true;
        return;
    }
    if (*form == '~')
        is_loose = true, form++;
    if (has_parts)
        buf_byte(out, '(');
    for (; *form; form++) {
        if (*form == '@')
            expression(b, out, *++form, depth - 1);
        else
            buf_byte(out, *form);
    }
    if (has_parts)
        buf_byte(out, ')');
}

/* An expression in the arena; sets is_loose. */
static struct str made_expression(struct arena *a, struct bytes *b)
{
    struct buf out = buf_in(a, MAX_TEXT);

    if (!ranges['i'].n)
        find_ranges();
    is_loose = false;
    expression(b, &out, types[take(b, sizeof(types) - 1)], EXPRESSION_DEPTH);
    return buf_str(&out);
}
