<schema name="trip-plan">
  <system>You plan trips from these notes: each day has a morning, an afternoon and an evening.</system>
  <module name="trip">We are <param name="who" len="16" scaffold="two adults"/>
    and have <param name="duration" len="10" scaffold="three days"/>.
  </module>
  <union>
    <module name="seaside">We want the sea: a swim every day, fish in the evening, no early mornings.
      <union>
        <module name="lisbon" src="docs/lisbon.txt">We stay in <param name="place" len="12"/></module>
        <module name="split" src="docs/split.txt">We stay in <param name="place" len="12"/></module>
      </union>
    </module>
    <module name="mountains">We want mountains: one long walk, one easy day, lunch in a hut.
      <union>
        <module name="innsbruck" src="docs/innsbruck.txt">We stay in <param name="place" len="12"/></module>
        <module name="zermatt" src="docs/zermatt.txt">We stay in <param name="place" len="12"/></module>
      </union>
    </module>
    <module name="elsewhere">We go to <param name="place" len="12"/>, of which we know nothing: find what most towns have.
    </module>
  </union>
</schema>
