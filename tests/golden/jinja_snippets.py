"""Small templates, one for each thing of the language that tests/golden/make_jinja_fixtures.py has judged."""

VARIABLES = {
    "n": 7, "f": 2.5, "s": "Hello World", "e": "", "t": True, "z": None, "u": "naïve ß ﬁ 漢字 😀 Σίσυφος ΑΣ",
    "l": [3, 1, 2], "w": ["b", "A", "c", "a"], "d": {"b": 1, "a": [1, {"x": None}], "items": "own", "C": 2.0},
    "people": [{"name": "Ann", "age": 30, "tags": ["x", "y"]}, {"name": "bob", "age": 25, "tags": []},
               {"name": "Cy", "age": 30}],
    "lines": "  one\ntwo\r\n\n three \t", "html": "<b>a & 'b' \"c\"</b>", "deep": {"a": {"b": [10, 20, {"c": "found"}]}},
}

EXPRESSIONS = r"""
1 + 2 * 3 - 4 / 2
7 // 2
-7 // 2
7 % 3
-7 % 3
7 % -3
-7.5 % 2
7.5 // 2
-7.5 // 2
2 ** 10
2 ** -1
2 ** 3 ** 2
-2 ** 2
2 ** 0.5
0 ** 0
1 / 3
1 / 0
1 // 0
1 % 0
1.5 % 0
0.0 / 0
10 / 5
1e3
1.5e-7
1_000
0xff
0b101
0o17
1_0.5_0
0.1 + 0.2
1e16
1e15
123456789012345678
1e22
1.0
100000000000000000000.0
0.0001
0.00001
-0.0
1e400
3 == 3.0
1 == true
true + true
true and false
not true
not not 1
1 and 0 or 5
e or 'default'
0 or none or []
1 < 2 < 3
1 < 2 > 3
3 > 2 >= 2 != 1
1 == 1 == true
'a' < 'b'
'a' < 1
[1, 2] < [1, 3]
[1, 2] == (1, 2)
[1] == [1.0]
{'a': 1} == {'a': 1.0}
none == none
none < 1
nobody == none
nobody == other
nobody != 1
1 in [1, 2]
4 not in [1, 2]
'ell' in s
'' in s
1 in s
'b' in d
'q' not in d
[1] in d
1 in nobody
1 in 5
1.0 in [1]
not 1 in [1]
'a' ~ 1 ~ none ~ 2.0 ~ nobody ~ true
'a' + 'b'
'a' + 1
1 + 'a'
'ab' * 3
3 * 'ab'
'ab' * -1
[1, 2] + [3]
[1] + (2,)
(1,) + (2,)
[0] * 3
[] + []
{} + {}
none + 1
nobody + 1
1 - nobody
-nobody
-'a'
+5
-t
- - 5
1 if true else 2
1 if false
(1 if false) is defined
'a' if n > 5 else 'b' if n > 3 else 'c'
1 if 0 else 2 if 0 else 3
[1, 2, 3][0]
[1, 2, 3][-1]
[1, 2, 3][5]
[1, 2, 3][1:]
[1, 2, 3][:-1]
[1, 2, 3][::-1]
[1, 2, 3, 4, 5][1:4:2]
[1, 2, 3, 4, 5][-2:]
[1, 2, 3, 4, 5][10:]
[1, 2, 3, 4, 5][4:1:-1]
[1, 2, 3, 4, 5][::-2]
[1, 2, 3][::0]
5|unique|string is string
(none|unique).k
none|unique|list
l['a':]
z[1:]
[1, 2, 3][none:none]
(1, 2, 3)[1:]
s[0]
s[-1]
s[99]
s[1:4]
s[::-1]
s[::2]
u[0:5]
u[-9:]
u[::-1]
u[11]
u|length
range(5)[1:3]
range(5)[-1]
range(10)[::3]
nobody[1:]
d[1:]
5[0]
l.0
l.2
people.0.name
d.b
d['b']
d.items
d['items']
d.a[1].x
d.q
d.q.r
d['q']['r']
d.q is defined
none.x
none['x']
(5).x
s.x
s.nothing()
nobody.x
nobody['x']
nobody()
s()
5()
d.update
d.update is defined
d.update({'a': 1})
l.append(4)
l.sort()
l.append is defined
l.index(1)
l.index(9)
l.count(3)
[1, 2, 1].count(1)
(1, 2).index(2)
d.keys()
d.values()
{'a': 1, 'b': 2}.items()
{'a': 1}.keys()|list
{'a': 1}.items()|list
d.get('b')
d.get('q')
d.get('q', 5)
d.get()
d.get('q', default=5)
{}.get([])
{'a': 1}.items()|length
{'a': 1}.keys()[0]
{'a': 1, 'a': 2, 'b': 3}
{1: 'a', 1.0: 'b', true: 'c'}
{none: 1, (1, 2): 2}
{[1]: 2}
{'a': 1}['a']
{1: 2}[1]
{1: 2}.1
()
(1,)
(1, 2)
1, 2
[]
{}
[1, [2, (3, {'a': none})], "it's", 'a "q"', 'both \' and "', 'tab\t', 'nl\n', 'bs\\']
['\x00', '\x7f', '\x80', '\u200b', '\u00e9', '\U0001F600', '\ud7ff', '\xa0']
'\ud800'
'\x4'
'\q\d'
'\101\60'
'a\
b'
"it's"
'say "hi"'
'a' 'b' "c"
u
[u]
true
True
none
None
false
[true, none, 1.5]
nobody
[nobody]
range(3)
range(1, 10, 3)
range(3, 0, -1)
range(0)
range(100001)
range(1, 2, 0)
range(3)|list
range(2.5)
range()
range('a')
dict(a=1, b='x')
dict([('a', 1), ('b', 2)])
dict({'a': 1}, b=2)
dict(1)
dict(**{'x': 1})
namespace(a=1)
namespace({'a': 1}, b=2).b
namespace(a=1).c
namespace(a=1)['a']
raise_exception('no ' ~ n)
raise_exception()
raise_exception(none)
strftime_now('%d %B %Y')
strftime_now('%H:%M %p %A %j %%')
strftime_now(5)
s.upper()
s.lower()
s.title()
"they're bill's x1y".title()
"hello wORLD".capitalize()
u.upper()
u.lower()
u.title()
u.capitalize()
'ŉ ǰ ΐ ﬀ'.upper()
'İ'.lower()
'  x '.strip()
'  x '.lstrip()
'  x '.rstrip()
'xxaxx'.strip('x')
'abcba'.strip('ab')
'abcba'.lstrip('ab')
'abcba'.rstrip('ab')
'\u3000\xa0x\u2003'.strip()
'x'.strip(none)
'x'.strip(1)
s.split()
s.split('o')
s.split('o', 1)
s.split(none, 1)
s.split(maxsplit=1)
s.split(sep='l')
s.split('')
s.split(' ')[-1]
'a,b,,c'.split(',')
' a  b '.split()
' a  b '.split(' ')
'a b c'.rsplit(none, 1)
'a b c'.rsplit(' ', 1)
'aXbXc'.rsplit('X')
'aaa'.split('aa')
'aaa'.rsplit('aa')
''.split()
''.split('x')
'a b c '.split(none, 1)
' a b c '.rsplit(none, 1)
lines.splitlines()
lines.splitlines(true)
''.splitlines()
'a\x0bb\x1cc\u2028d'.splitlines()
s.startswith('He')
s.startswith('ll', 2)
s.startswith(('x', 'H'))
s.startswith('lo', 3, 5)
s.startswith(1)
s.endswith('ld')
s.endswith(('x', 'ld'))
s.endswith('lo', 0, 5)
s.startswith(nobody)
s.replace('l', 'L')
s.replace('l', 'L', 1)
s.replace('', '-')
''.replace('', '-')
s.replace('q', 'x')
s.replace('l')
s.replace('l', 1)
s.find('o')
s.find('o', 5)
s.find('q')
s.rfind('o')
s.index('o')
s.index('q')
s.rindex('o')
u.find('字')
s.count('l')
s.count('')
'aaaa'.count('aa')
', '.join(['a', 'b'])
', '.join([1])
', '.join('abc')
''.join([])
', '.join(nobody)
'{} {}'.format(1, 'a')
'{0} {1} {0}'.format(1, 2)
'{a} {b}'.format(a=1, b=[2])
'{a.name} {a[age]} {b[0]}'.format(a=people[0], b=l)
'{{}}'.format()
'{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd')
'{:05d} {:+d} {: d} {:,} {:x} {:X} {:o} {:b} {:#x}'.format(42, 42, 42, 1234567, 255, 255, 8, 5, 255)
'{:.2f} {:8.3f} {:e} {:g} {:%} {:.0f}'.format(3.14159, 2.5, 12345.678, 0.0001, 0.256, 2.5)
'{:.3} {:10} {!r} {!s}'.format('abcdef', 'x', 'q', 'q')
'{:d}'.format(1.5)
'{:s}'.format(1)
'{} {}'.format(1)
'{'.format()
'}'.format()
'{0} {}'.format(1, 2)
'{x}'.format()
'{:{w}}'.format('a', w=5)
'{}'.format(none)
'{:5}'.format(none)
'{}'.format(1.0)
'{:}'.format(true)
'{:d}'.format(true)
'{:.1f}'.format(7)
'{:>10,.2f}'.format(12345.678)
'%s %d %r' % ('a', 3, 'b')
'%s' % 5
'%s' % [1, 2]
'%s %s' % (1,)
'%s' % (1, 2)
'%d' % 2.7
'%d' % 'a'
'%5.2f|%-5d|%05d|%+d|% d' % (3.14159, 3, 42, 5, 5)
'%x %X %o %#x %e %g %%' % (255, 255, 8, 255, 12345.678, 0.00001)
'%(a)s %(b)d' % {'a': 1, 'b': 2}
'%(q)s' % {'a': 1}
'%c%c' % (65, 'b')
'%.3s|%10s|%-10s|' % ('abcdef', 'r', 'l')
'%*d' % (5, 42)
'%q' % 1
'%' % 1
'%s' % nobody
s|upper
s|lower
s|title
'hello (world) [foo-bar] x{y <z'|title
"it's o'clock"|title
s|capitalize
u|upper
5|upper
none|lower
nobody|upper
s|trim
'  a '|trim ~ '|'
'xax'|trim('x')
none|trim
nobody|trim
5|trim
s|length
l|length
d|length
n|length
nobody|length
l|count
range(5)|length
(l|map('string'))|length
l|first
l|last
e|first
[]|last
nobody|first
nobody|last
d|first
s|last
5|first
l|map('string')|last
l|sort
l|sort(reverse=true)
w|sort
w|sort(case_sensitive=true)
w|sort(reverse=true)
people|sort(attribute='age')|map(attribute='name')|list
people|sort(attribute='age,name')|map(attribute='name')|list
people|sort(attribute='age', reverse=true)|map(attribute='name')|list
[1, 'a']|sort
['b', 'a']|sort(attribute='x')
'hello'|sort|join
d|dictsort
{'b': 2, 'A': 1, 'c': 0}|dictsort
{'b': 2, 'A': 1, 'c': 0}|dictsort(true)
{'b': 2, 'A': 1, 'c': 0}|dictsort(by='value')
{'b': 2, 'A': 1, 'c': 0}|dictsort(false, 'value', true)
{'b': 2}|dictsort(by='x')
5|dictsort
l|min
l|max
[]|min
people|map(attribute='age')|max
['b', 'A']|min
['b', 'A']|max(case_sensitive=true)
people|max(attribute='age')
l|join
l|join(', ')
l|join(d=', ')
people|join(', ', attribute='name')
e|join
'abc'|join('-')
nobody|join(',')
5|join
[none, true, nobody]|join('|')
d|join('-')
l|list
s|list
d|list
nobody|list
5|list
u|list|length
l|reverse|list
s|reverse
u|reverse
range(3)|reverse|list
d|reverse|list
5|reverse
l|unique|list
['a', 'A', 'b']|unique|list
['a', 'A', 'b']|unique(true)|list
people|unique(attribute='age')|map(attribute='name')|list
[[1], [1]]|unique|list
l|map('string')|list
l|map('default', 1)|list
w|map('upper')|list
w|map('replace', 'a', 'x')|join
people|map(attribute='name')|join(',')
people|map(attribute='tags.0')|list
people|map(attribute='tags.0', default='-')|list
l|map
l|map('nothing')|list
l|map('nothing') is defined
nobody|map('upper')|list
none|map('upper')|list
5|map('upper')|list
l|map(attribute='x', bad=1)|list
l|select|list
[0, 1, '', 'a']|select|list
[0, 1, 2, 3]|select('>', 1)|list
[0, 'a', 2]|select('number')|list
[0, 'a', 2]|reject('number')|list
[0, 1, 2, 3]|reject('in', [1, 2])|list
people|selectattr('age', 'equalto', 30)|map(attribute='name')|list
people|selectattr('tags')|map(attribute='name')|list
people|rejectattr('tags')|map(attribute='name')|list
people|selectattr('tags', 'defined')|list|length
people|selectattr('name', 'nothing')|list
people|selectattr()|list
[nobody]|selectattr('x')|list
l|default(5)
nobody|default('x')
nobody|default
none|default('x')
none|default('x', true)
e|d('x', boolean=true)
d.q|default(d.b)
nobody.x|default('y')
'5'|int
'5.7'|int
'-5'|int
' 5 '|int
'5a'|int
'5a'|int(9)
'ff'|int(base=16)
'0xff'|int(base=16)
'0b11'|int(0, 2)
'0x1f'|int(0, 0)
'1_000'|int
'1__0'|int
'1e3'|int
5.9|int
-5.9|int
true|int
none|int
nobody|int
[]|int
'inf'|int
'5'|float
'1e3'|float
'x'|float
'x'|float(1.5)
'inf'|float
'nan'|float
' 2.5 '|float
'1_0.5'|float
none|float
true|float
nobody|float
2.5|round
3.5|round
2.675|round(2)
2.5|round(0, 'ceil')
2.45|round(1, 'floor')
5|round
1234|round(-2)
1250|round(-2)
1350|round(-2)
1234.5|round(-2)
-2.5|round
2.5|round(0, 'x')
'a'|round
1e300|round(2)
s|string
5|string
nobody|string
none|string
s|replace('l', 'L')
s|replace('l', 'L', 1)
5|replace(5, 6)
s|replace('', '.')
nobody|replace('a', 'b')
'%s-%s'|format(1, 'a')
'%(a)s'|format(a=1)
'%s'|format
s|indent
lines|indent
lines|indent(2, true)
lines|indent(2, true, true)
lines|indent('> ')
lines|indent(width=1, first=true, blank=true)
''|indent(2, true) ~ '|'
5|indent
html|escape
html|e
html|safe
html|e|e
(html|safe) ~ '<'
(html|safe) + '<'
'<' + (html|safe)
('<a>'|safe) * 2
('<a>%s'|safe) % '<'
('<a>{}'|safe).format('<')
('<a>'|safe).replace('a', '<')
('<a>'|safe).upper()
('<a> '|safe).strip() + '<'
('<'|safe).join(['>', '<'])
('a,b'|safe).split(',')
[html|safe]
('<'|safe)|upper
('<'|safe)|length
('<'|safe)|list
('<'|safe)|string + '<'
('<'|safe)|trim + '<'
('<'|safe)|lower|replace('<', '>')
(['<'|safe, '<']|join)
('<'|safe)|tojson
s|nothing
s is nothing
s if s is nothing else 1
1 if true else s|nothing
l|tojson
d|tojson
people|tojson
people|tojson(indent=2)
d|tojson(indent=4)
d|tojson(indent='\t')
[]|tojson(indent=2)
{}|tojson(indent=2)
[[], {}, [1]]|tojson(indent=1)
d|tojson(indent=0)
d|tojson(sort_keys=true)
u|tojson
u|tojson(ensure_ascii=true)
'\x00\x1f\x7f\n\t\r\x08\x0c"\\/<>&\''|tojson
'\u2028'|tojson
l|tojson(separators=(',', ':'))
d|tojson(separators=(',', ':'), sort_keys=true)
d|tojson(indent=none)
nobody|tojson
none|tojson
true|tojson
1.0|tojson
1e16|tojson
('inf'|float)|tojson
('nan'|float)|tojson
(1, 2)|tojson
{1: 2, none: 3, true: 4, 1.5: 5}|tojson
{(1,): 2}|tojson
range(3)|tojson
(l|map('string'))|tojson
namespace(a=1)|tojson
s.upper|tojson
d|items|list
{'a': 1}|items|list
nobody|items|list
none|items|list
none|items is defined
5|items
(l|map('string')) is iterable
nobody is defined
n is defined
nobody is undefined
z is none
z is not none
nobody is none
t is boolean
1 is boolean
t is true
1 is true
false is false
0 is false
n is integer
t is integer
f is float
n is float
n is number
t is number
s is number
s is string
n is string
(s|safe) is string
d is mapping
l is mapping
l is sequence
s is sequence
d is sequence
(1,) is sequence
range(2) is sequence
d.keys() is sequence
n is sequence
nobody is sequence
l is iterable
s is iterable
n is iterable
none is iterable
nobody is iterable
3 is in [1, 2, 3]
3 is not in [1, 2]
'a' is in 'abc'
3 is eq 3
3 is ne 3
3 is lt 4
3 is le 3
3 is gt 4
3 is ge 3
3 is equalto 3
3 is greaterthan 2
3 is lessthan 2
3 is == 3
n is number is boolean
n + 1 is number
-5|string
-5.5|int
(-5)|string
n is defined and n > 5
not n is defined
n is not defined or true
n is string == false
2 * 3|string
(2 * 3)|string ~ 'x'
1 + 2|string|length
'a' ~ 'b'|upper
not e|length
s|upper|lower|title
deep.a.b[2].c
deep['a']['b'][2]['c']
deep.a.b.2.c
deep.a['b'].1
s['upper']()
d['get']('b')
s.upper().lower().title()[0:3]|upper
(l|sort)[0]
[l, w][1][0]
{'x': [1, 2]}.x[1]
[*l]
f(*l)
dict(a=1, **{'b': 2})
dict(a=1, **{'a': 2})
dict(a=1, a=2)
range(*[1, 5])
range(*l)
range(stop=5)
s.upper(1)
s.upper(x=1)
1 2
1 +
(1
[1
{'a' 1}
'abc
1 = 2
a.
a.b.
|upper
s|
s is
{{}}
}}
a b
foo(1 2)
foo(a=1, 2)
x if
for
1..2
1.2.3
l.0.x
a?b
a && b
$a
@
\
'a' in 'abc' in ['abc', true]
n if n else nobody.x
nobody.x if nobody else 'safe'
nobody and nobody.x
(nobody or {}).x is defined
(d.q or {}).get('x', 'y')
d.q.get('x')
loop is defined
caller is defined
varargs is defined
""".strip("\n").split("\n")

# Lines of an expression that the list above cuts in two are put together again.
STATEMENTS = [
    # ---- white space
    "a\n{% if t %}\nb\n{% endif %}\nc\n",
    "a\n  {% if t %}  \n  b\n  {% endif %}\n  c",
    "a\n  {%- if t -%}  \n  b\n  {%- endif -%}\n  c",
    "a\n  {%+ if t %}\n  b\n  {%+ endif +%}\n  c",
    "a {% if t %} b {% endif %} c",
    "  {% if t %}x{% endif %}  {% if t %}y{% endif %}",
    "\t {% if t %}x\n\t {% endif %}y",
    "a\n\n{% if t %}\n\nb\n\n{% endif %}\n\nc",
    "a\n  {{ n }}\n  {{- n }}\n  {{ n -}}  \n  b",
    "a  {{- n -}}  b",
    "{{ n }}\n",
    "{{ n }}\n\n",
    "{{ n }}\r\n\r\n",
    "a\r\nb\rc\n",
    "\n\n",
    "",
    " ",
    "x{# comment #}\ny",
    "x\n  {# comment #}\ny",
    "x  {#- comment -#}  y",
    "x\n {#+ comment +#} \n y",
    "{# a #}{# b #}\n{# c #}z",
    "{#\n many\n lines #}\nz{{ n }}",
    "{# {% if %} {{ x }} #}z",
    "{#-#}z",
    "{##}z",
    "{# unclosed",
    "x #} y",
    "%} }} x",
    "{ % { { x",
    "{% if t %}a{% endif -%}\n\n b",
    "{% if t -%}\n\n a{% endif %}",
    "a\xa0\n {%- if t %}b{% endif %}",
    "a\u2003{%- if t -%}\u3000b{% endif %}",
    "{% if t %}\n\n\n{% endif %}x",
    "x{% if t %}{% endif %}\n\ny",
    "{%- for x in l -%}\n {{ x }}\n{%- endfor -%}",
    "{% for x in l %}\n {{ x }}\n{% endfor %}",
    "  {% for x in l %}  {{ x }}  {% endfor %}  ",
    "{% for x in l %}\n  {% if x > 1 %}\n  {{ x }}\n  {% endif %}\n{% endfor %}\nend",
    "{% set x = 1 %}\n\n{{ x }}",
    "line\n\t{% set x = 1 %}\nnext",
    "a\n{{ '' }}\nb",
    "a{{ 'x\n\ny' }}b",
    "{{ '{{ x }}' }}{{ '{% y %}' }}",
    "{{ \"a}}b\" }}",
    "{{ {'a': {'b': 1}} }}",
    "{{ {'a': 1}['a'] }}",
    "{{-1}}|{{ -1 }}|{{+1}}",
    "{{- 1 }}|{{ 1 -}}|x",
    "{{ 1 +}}",
    # ---- raw
    "{% raw %}{{ x }}{% if %}{% endraw %}",
    "a\n  {% raw %}\n  {{ x }}\n  {% endraw %}\n  b",
    "a {%- raw -%} {{ x }} {%- endraw -%} b",
    "{% raw %}{% raw %}{% endraw %}",
    "{%raw%}x{%endraw%}",
    "{% raw %}x",
    "{% rawx %}",
    "{%+ raw %} x {%+ endraw +%}\n y",
    # ---- if
    "{% if n == 1 %}a{% elif n == 7 %}b{% else %}c{% endif %}",
    "{% if 0 %}a{% elif 0 %}b{% else %}c{% endif %}",
    "{% if 0 %}a{% endif %}",
    "{% if nobody %}a{% else %}b{% endif %}",
    "{% if l %}a{% endif %}{% if [] %}b{% endif %}{% if {} %}c{% endif %}{% if '' %}d{% endif %}{% if 0.0 %}e{% endif %}",
    "{% if t %}{% if e %}x{% else %}y{% endif %}{% endif %}",
    "{% if t: %}a{% endif %}",
    "{% if %}a{% endif %}",
    "{% if t %}a",
    "{% if t %}a{% else %}b{% elif t %}c{% endif %}",
    "{% if t %}a{% endfor %}",
    "{% endif %}",
    "{% else %}",
    "{% if t, e %}a{% endif %}",
    "{% if e %}{{ s|nothing }}{% endif %}ok",
    "{% if t %}{{ s|nothing }}{% endif %}ok",
    "{% if e %}{% for x in [] %}{{ x|nothing }}{% endfor %}{% endif %}ok",
    "{% if e %}{{ s is nothing }}{% endif %}ok",
    # ---- for
    "{% for x in l %}{{ x }},{% endfor %}",
    "{% for x in [] %}a{% else %}none{% endfor %}",
    "{% for x in l %}{{ x }}{% else %}none{% endfor %}",
    "{% for x in nobody %}a{% else %}none{% endfor %}",
    "{% for x in none %}a{% endfor %}",
    "{% for x in 5 %}a{% endfor %}",
    "{% for x in s %}{{ x }}.{% endfor %}",
    "{% for x in u %}{{ x }}.{% endfor %}",
    "{% for k in d %}{{ k }},{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in {'a': 1, 'b': 2}|items %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in d|dictsort %}{{ k }}={{ v }};{% endfor %}",
    "{% for a, b in [(1, 2), [3, 4], 'xy'] %}{{ a }}-{{ b }};{% endfor %}",
    "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for (a, b) in [(1, 2)] %}{{ a }}{{ b }}{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}a{% endfor %}",
    "{% for a, b in [(1,)] %}a{% endfor %}",
    "{% for a, b in [1] %}a{% endfor %}",
    "{% for a, in [(1,), (2,)] %}{{ a }}{% endfor %}",
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}<{{ loop.nextitem }};{% endfor %}",
    "{% for x in l %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}{% endfor %}",
    "{% for x in l %}{{ loop.nothing }}{% endfor %}",
    "{% for x in l %}{{ loop }}{% endfor %}",
    "{% for x in l %}{{ loop|length }}{% endfor %}",
    "{% for x in l %}{% for y in w %}{{ loop.index }}{{ y }}{% endfor %}{{ loop.index }};{% endfor %}",
    "{% for x in l %}{% set outer = loop %}{% for y in w %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}",
    "{% for x in l if x > 1 %}{{ x }}{{ loop.index }}{{ loop.last }}{{ loop.length }};{% endfor %}",
    "{% for x in l if x > 5 %}a{% else %}none{% endfor %}",
    "{% for x in l if loop.first %}a{% endfor %}",
    "{% set ns = namespace(stop=false) %}{% for x in [1, 2, 3, 4] if not ns.stop %}{{ x }}{% if x == 2 %}{% set ns.stop = true %}{% endif %}{% endfor %}",
    "{% set ns = namespace(stop=false) %}{% for x in [1, 2, 3, 4] if not ns.stop %}{{ x }}{{ loop.last }}{% if x == 2 %}{% set ns.stop = true %}{% endif %}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% for y in w %}{% if y == 'c' %}{% break %}{% endif %}{{ y }}{% endfor %}{{ x }}{% endfor %}",
    "{% for x in l %}{% break %}{% else %}none{% endfor %}",
    "{% for x in l %}{% continue %}{% else %}none{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{% else %}none{% endfor %}",
    "{% for x in l %}{% filter upper %}a{% break %}{% endfilter %}{% endfor %}",
    "{% for x in l if x %}{{ loop }}{% endfor %}",
    "{% if n is defined and n is number and not e %}a{% endif %}",
    "{% for x in l if x > 1 %}{{ loop.nextitem }}{{ loop.revindex }};{% endfor %}",
    "{% for a, b in d|dictsort %}{{ a }}:{{ b|length }};{% endfor %}",
    "{% set x = [[1], 2]|map('list') %}{{ x|first }}",
    "{% for x in l %}{% if x == 3 %}{% continue %}{% endif %}{{ loop.index }}{{ loop.previtem }}{% endfor %}",
    "{% break %}",
    "{% continue %}",
    "{% for x in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
    "{% for x in l %}{% endfor %}{{ x is defined }}{{ loop is defined }}",
    "{% for x in range(3) %}{{ x }}{% endfor %}",
    "{% for x in l|sort|reverse %}{{ x }}{{ loop.last }}{% endfor %}",
    "{% for x in l|map('string') %}{{ loop.length }}{{ x }}{% endfor %}",
    "{% for x in people|selectattr('age', 'eq', 30) %}{{ x.name }}{{ loop.last }}{% endfor %}",
    "{% for x in [1, [2, [3]], 4] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}:{{ loop.depth }}{% endif %}{% endfor %}",
    "{% for x in [{'n': 1, 'c': [{'n': 2, 'c': []}]}] recursive %}{{ x.n }}{{ loop(x.c) }}{% else %}!{% endfor %}",
    "{% for x in l %}{{ loop([1]) }}{% endfor %}",
    "{% for x in l recursive %}{{ x }}{{ loop.index }}{% endfor %}",
    "{% for x in 1, 2, 3 %}{{ x }}{% endfor %}",
    "{% for x in t if t else e %}{% endfor %}",
    "{% for x in (l if t else w) %}{{ x }}{% endfor %}",
    "{% for loop in l %}{% endfor %}",
    "{% for x in l %}{% set loop = 1 %}{% endfor %}",
    "{% for x.y in l %}{% endfor %}",
    "{% for 1 in l %}{% endfor %}",
    "{% for x in l %}",
    "{% for x %}{% endfor %}",
    "{% for x in messages %}{% endfor %}{% for x in none or [] %}a{% else %}b{% endfor %}",
    # ---- scopes
    "{% set x = 1 %}{% for i in l %}{% set x = i %}{{ x }}{% endfor %}{{ x }}",
    "{% for i in l %}{{ x }}{% set x = i %}{{ x }};{% endfor %}",
    "{% set x = 0 %}{% for i in l %}{{ x }}{% set x = i %}{{ x }};{% endfor %}{{ x }}",
    "{% for i in l %}{% if i == 1 %}{% set n = 'in' %}{% endif %}{{ n }}{% endfor %}{{ n }}",
    "{% if t %}{% set x = 1 %}{% endif %}{{ x }}",
    "{% if e %}{% set n = 1 %}{% endif %}{{ n }}",
    "{% if e %}{% set n = 1 %}{% elif t %}{% set n = 2 %}{% else %}{% set n = 3 %}{% endif %}{{ n }}",
    "{% if e %}{% elif n == 7 %}{% set q = n %}{% endif %}{{ q }}",
    "{% set n = n + 1 %}{{ n }}",
    "{{ n }}{% set n = 1 %}{{ n }}",
    "{% macro m() %}{{ n }}{% endmacro %}{{ m() }}{% set n = 1 %}{{ m() }}",
    "{% macro m() %}{{ q }}{% endmacro %}{% set q = 1 %}{{ m() }}{% set q = 2 %}{{ m() }}",
    "{% set q = 1 %}{% macro m() %}{% set q = 2 %}{{ q }}{% endmacro %}{{ m() }}{{ q }}",
    "{% set q = 1 %}{% macro m() %}{{ q }}{% set q = 2 %}{{ q }}{% endmacro %}{{ m() }}{{ q }}",
    "{% for i in l %}{% macro m() %}{{ i }}{{ loop.index }}{% endmacro %}{{ m() }}{% endfor %}",
    "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}",
    "{% macro a() %}{{ b() }}{% endmacro %}{{ a() }}{% macro b() %}B{% endmacro %}",
    "{% for i in l %}{% for j in l %}{% set x = i * j %}{% endfor %}{{ x }}{% endfor %}",
    "{% for n in l %}{{ n }}{% endfor %}{{ n }}",
    "{% with a = 1, b = n %}{{ a }}{{ b }}{% set c = 5 %}{{ c }}{% endwith %}{{ a }}{{ c }}",
    "{% with %}{% set n = 3 %}{{ n }}{% endwith %}{{ n }}",
    "{% with a = 1, b = a %}{{ b }}{% endwith %}",
    "{% with n = n + 1 %}{{ n }}{% endwith %}{{ n }}",
    "{% with a, b = (1, 2) %}{{ a }}{{ b }}{% endwith %}",
    "{% with (a, b) = (1, 2) %}{{ a }}{{ b }}{% endwith %}",
    "{% set ns = namespace(x=0) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace(x=0) %}{% set ns.y = 5 %}{{ ns.y }}{{ ns.z }}{{ ns.z is defined }}",
    "{% set ns = namespace(x=0) %}{{ ns }}",
    "{% set ns.x = 5 %}",
    "{% set d.x = 5 %}",
    "{% set ns = namespace() %}{% set ns.a.b = 5 %}",
    "{% set ns = namespace(a=1) %}{% macro m() %}{% set ns.a = ns.a + 1 %}{% endmacro %}{{ m() }}{{ m() }}{{ ns.a }}",
    "{% set ns = namespace(list=[]) %}{% for i in l %}{% set ns.list = ns.list + [i] %}{% endfor %}{{ ns.list }}",
    # ---- set
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
    "{% set (a, b) = [1, 2] %}{{ a }}{{ b }}",
    "{% set a, b = 'xy' %}{{ a }}{{ b }}",
    "{% set a, b = 1 %}",
    "{% set a, b = [1, 2, 3] %}",
    "{% set a = 1, 2 %}{{ a }}",
    "{% set a = b = 1 %}",
    "{% set a %}",
    "{% set 1 = a %}",
    "{% set true = 1 %}",
    "{% set a[0] = 1 %}",
    "{% set x %}a{{ n }}b{% endset %}[{{ x }}]",
    "{% set x | upper %}a{{ n }}b{% endset %}[{{ x }}]",
    "{% set x | replace('a', 'z') | upper %}a{{ n }}b{% endset %}[{{ x }}]",
    "{% set x %}\n  a\n{% endset %}\n[{{ x }}]",
    "{% set x %}{% set y = 1 %}{{ y }}{% endset %}{{ x }}{{ y }}",
    "{% set ns = namespace() %}{% set ns.x %}a{% endset %}{{ ns.x }}",
    "{% for i in l %}{% set x %}{{ i }}{% if i == 1 %}{% continue %}{% endif %}{% endset %}{{ x }}{% endfor %}",
    "{% set x %}<{% endset %}{{ x|e }}",
    # ---- macros
    "{% macro m(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}|{{ m(1, 3) }}|{{ m(1, c='y') }}|{{ m(a=5) }}|{{ m() }}",
    "{% macro m(a) %}{{ a is defined }}{{ a }}{% endmacro %}{{ m() }}{{ m(none) }}{{ m(nobody) }}",
    "{% macro m(a) %}{{ a.x }}{% endmacro %}{{ m() }}",
    "{% macro m(a, b=a) %}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, 2) }}",
    "{% macro m(a=n, b=[a]) %}{{ b }}{% endmacro %}{{ m() }}{{ m(1) }}",
    "{% macro m(a, b=c, c=3) %}{{ b }}{% endmacro %}{{ m(1) }}",
    "{% macro m(a=1, b) %}{% endmacro %}",
    "{% macro m(a, a) %}{% endmacro %}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}{{ m() }}",
    "{% macro m(a) %}{{ a }}{{ varargs }}{% endmacro %}{{ m(1, 2, 3) }}",
    "{% macro m(a) %}{{ a }}{{ kwargs }}{% endmacro %}{{ m(1, b=2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}",
    "{% macro m(*a) %}{% endmacro %}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*[1]) }}{{ m(**{'a': 2}) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m }}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.caller }}{{ m.nothing is defined }}",
    "{% macro m(x) %}{% if x > 0 %}{{ x }}{{ m(x - 1) }}{% endif %}{% endmacro %}{{ m(5) }}",
    "{% macro m() %}\n  a\n{% endmacro %}\n[{{ m() }}]",
    "{%- macro m() -%}\n  a\n{%- endmacro -%}\n[{{ m() }}]",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}body{% endcall %}",
    "{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b) m() %}{{ a }}{{ b }}{% endcall %}",
    "{% macro m() %}{{ caller(1) }}{% endmacro %}{% call(a, b=5) m() %}{{ a }}{{ b }}{{ n }}{% endcall %}",
    "{% macro m(x) %}{{ x }}{{ caller() }}{{ caller() }}{% endmacro %}{% call m('q') %}[{{ n }}]{% endcall %}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}",
    "{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}",
    "{% macro m(caller=none) %}{{ caller() if caller else 'no' }}{% endmacro %}{{ m() }}{% call m() %}y{% endcall %}",
    "{% macro m(caller) %}{{ caller() }}{% endmacro %}",
    "{% call s.upper() %}y{% endcall %}",
    "{% call n %}y{% endcall %}",
    "{% for x in l %}{% macro inner() %}{{ caller() }}{% endmacro %}{% call inner() %}{{ x }}{% endcall %}{% endfor %}",
    "{% macro m() %}{% set x = 1 %}{% endmacro %}{{ m() }}{{ x }}",
    "{% macro m() %}<{% endmacro %}{{ m()|e }}{{ m() + '<' }}",
    "{% macro m() %}{{ loop is defined }}{% endmacro %}{% for x in l %}{{ m() }}{% endfor %}",
    "{% macro m() %}{{ return }}{% endmacro %}{{ m() }}",
    "{% macro %}{% endmacro %}",
    "{% macro m %}{% endmacro %}",
    "{% macro m() %}",
    "{{ m() }}{% macro m() %}a{% endmacro %}",
    "{% if e %}{% macro m() %}a{% endmacro %}{% endif %}{{ m() }}",
    "{% if t %}{% macro m() %}a{% endmacro %}{% endif %}{{ m() }}",
    "{% set m = 5 %}{% macro m() %}a{% endmacro %}{{ m() }}",
    "{% set f = s.upper %}{{ f() }}",
    "{% macro m(f) %}{{ f(3) }}{% endmacro %}{% macro g(x) %}<{{ x }}>{% endmacro %}{{ m(g) }}",
    "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ [1]|map('string')|map('upper')|first }}{{ m(b=1, a=2) }}",
    # ---- filter blocks, generation, others
    "{% filter upper %}a{{ n }}b{% endfilter %}",
    "{% filter replace('a', 'x')|upper %}abc{% endfilter %}",
    "{% filter nothing %}abc{% endfilter %}",
    "{% filter trim %}\n  abc \n{% endfilter %}|",
    "{% filter upper %}{% set q = 'x' %}{{ q }}{% endfilter %}{{ q }}",
    "{% generation %}a{{ n }}{% endgeneration %}",
    "a\n  {% generation %}\n  b\n  {% endgeneration %}\n  c",
    "{% for x in l %}{% generation %}{{ x }}{{ loop.index }}{% set y = x %}{% endgeneration %}{{ y }}{% endfor %}",
    "{% generation %}{% set n = 1 %}{{ n }}{% endgeneration %}{{ n }}",
    "{% print n, s %}",
    "{% print %}",
    "{% do l %}",
    "{% nothing %}",
    "{% %}",
    "{% 1 %}",
    "{% if t %}{% nothing %}{% endif %}",
    "{{ }}",
    "{{",
    "{%",
    "{{ n",
    "{% if n",
    "{{ n %}",
    "{% if n }}",
    "a{b}c{ {d} }",
    "{{ n }}{{ n }}{{ n }}",
    "{{ 'a' if n }}{{ 'b' if not n }}|",
    "{{ s|upper|lower }}{{ s|upper()|lower() }}{{ s | upper | lower }}",
    "{{ n is not none and n is not string }}",
    "{{ raise_exception('a \"b\" {{ c }} ü') }}",
    "{% if n == 7 %}{{ raise_exception('seven') }}{% endif %}never",
    "{% if n != 7 %}{{ raise_exception('seven') }}{% endif %}ok",
    "{% set x = raise_exception('in set') %}",
    "{% for x in l %}{% if loop.last %}{{ raise_exception('last ' + x|string) }}{% endif %}{% endfor %}",
    "{% macro m() %}{{ raise_exception('macro') }}{% endmacro %}a{{ m() }}",
    "{% set x = l|map('string') %}{{ x|list }}{{ x|list }}",
    "{% set x = l|map('string') %}{% for y in x %}{{ y }}{% break %}{% endfor %}{{ x|list }}",
    "{% set x = l|map('string') %}{{ '1' in x }}{{ x|list }}",
    "{% set x = l|map('nothing') %}a{{ x|list }}",
    "{% set x = none|items %}a{% for y in x %}{% endfor %}",
    "{% set x = l|map('string') %}{{ x[0] is defined }}{{ x.y is defined }}{{ x is string }}{{ x and true }}",
    "{{ l|reverse|first }}{{ l|reverse|list|length }}",
    "{% set m = {'role': 'user', 'content': 'hi'} %}{{ m['role'] + ': ' + m.content }}",
    "{% set m = {'role': 'user'} %}{% if 'content' in m and m.content is string %}a{% else %}b{% endif %}",
    "{% set m = {'a': none} %}{% if m.a is not none %}x{% elif m.a is defined %}y{% endif %}",
    "{% for m in [{'role': 'user', 'content': 'a'}, {'role': 'assistant', 'content': 'b'}] %}{{ '<|' ~ m.role ~ '|>\n' ~ m['content'] ~ '\n' }}{% endfor %}",
    "{{ 'a\\nb' }}|{{ \"a\\tb\" }}|{{ 'a\\\\nb' }}|{{ '\\'' }}",
    "{{ true and 'yes' or 'no' }}",
    "{% set x = 5 %}{% set y = x if x > 3 else none %}{{ y }}",
    "{% set x = (n, s) %}{{ x[1] }}",
    "{% set x = {'a': {'b': [1, 2]}} %}{{ x.a.b[-1] }}{{ x['a']['b']|length }}",
    "{% include 'x' %}",
    "{% import 'x' as y %}",
    "{% extends 'x' %}",
    "{{ super() }}",
    "{% set ünï = 1 %}{{ ünï }}",
    "{{ 'é'|length }}{{ 'é'|upper }}",
    "{{ [1, 2, 3]|select('gt', 1)|map('string')|join('+') }}",
    "{{ {'b': 1, 'a': 2}|tojson }}{{ {'b': 1, 'a': 2}|tojson|safe }}",
    "{% set content = '<think>x</think>y' %}{{ content.split('</think>')[-1].lstrip('\n') }}{{ content.split('</think>')[0].split('<think>')[-1] }}",
    "{% if '</think>' in s %}a{% else %}b{% endif %}",
    "{{ messages }}{{ tools }}{{ documents }}{{ add_generation_prompt }}{{ bos_token }}",
]


def templates():
    """All of them; an expression stands in print brackets."""
    expressions, joined = [], None
    for line in EXPRESSIONS:
        line = line if joined is None else joined + "\n" + line
        # A backslash at the end of a line escapes the line's end inside a string.
        joined = line if line.endswith("'a\\") else None
        if joined is None:
            expressions.append(line)
    return ["{{ " + expression + " }}" for expression in expressions] + STATEMENTS
