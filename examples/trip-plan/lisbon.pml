<prompt schema="trip-plan">
  <user>
    <trip who="two adults and a child" duration="four days"/>
    <seaside><lisbon place="the Alfama"/></seaside>. Plan our days.
  </user>
</prompt>
